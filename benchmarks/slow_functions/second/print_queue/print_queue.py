"""A queue of print jobs on some printers."""

import copy


class PrintQueue:
    """Jobs by priority; the ones that wait long move up."""

    def __init__(self, printers=1):
        self.jobs = []
        self.free_at = [0] * printers
        self.history = []

    def submit(self, name, pages, at, priority=5):
        """Add a job that arrives at a time."""
        self.jobs.append({"name": name, "pages": pages, "at": at, "priority": priority})
        self.jobs = sorted(self.jobs, key=lambda job: job["at"])

    def urgency(self, job, now):
        """Return how urgent a job is; less is more."""
        waited = now - job["at"]
        return job["priority"] - waited // 30

    def next_job(self, now):
        """Return the job to print now, or None."""
        waiting = [copy.deepcopy(job) for job in self.jobs if job["at"] <= now]
        waiting.sort(key=lambda job: job["name"])
        waiting.sort(key=lambda job: job["at"])
        waiting.sort(key=lambda job: self.urgency(job, now))
        if len(waiting) == 0:
            return None
        return waiting[0]

    def run(self):
        """Print everything and return (name, printer, start, end) in the order of the starts."""
        now = 0
        while len(self.jobs) > 0:
            for printer in range(len(self.free_at)):
                if self.free_at[printer] > now:
                    continue
                job = self.next_job(now)
                if job is None:
                    continue
                self.jobs.remove(job)
                end = now + 2 + job["pages"]
                self.free_at[printer] = end
                self.history.append((job["name"], printer, now, end))
            now += 1
        return self.history

    def mean_wait(self, arrivals):
        """Return the mean time between arrival and start of finished jobs."""
        waits = [start - arrivals[name] for name, _, start, _ in self.history]
        return sum(waits) / len(waits) if waits else 0.0
