"""Grades of a class: averages, letters and places."""


def average(numbers):
    """Return the average of a list, or 0 when it is empty."""
    total = 0
    count = 0
    for number in numbers:
        total = total + number
        count = count + 1
    if count == 0:
        return 0
    return total / count


def get_marks(marks, student):
    """Return all marks of one student from a list of (student, subject, mark)."""
    result = []
    for entry in marks:
        if entry[0] == student:
            result.append(entry[2])
    return result


def letter(score):
    """Turn a score into a letter."""
    if score >= 90:
        return "A"
    elif score >= 75:
        return "B"
    elif score >= 60:
        return "C"
    return "F"


def class_report(marks):
    """Return a list of (place, student, average, letter), best first.

    Students with the same average share a place and are ordered by name.
    """
    students = []
    for entry in marks:
        if entry[0] not in students:
            students.append(entry[0])
    students.sort()

    # bubble sort, the best one first
    for i in range(len(students)):
        for j in range(len(students) - 1 - i):
            a = average(get_marks(marks, students[j]))
            b = average(get_marks(marks, students[j + 1]))
            if a < b:
                temp = students[j]
                students[j] = students[j + 1]
                students[j + 1] = temp

    report = []
    for student in students:
        mine = average(get_marks(marks, student))
        place = 1
        for other in students:
            if average(get_marks(marks, other)) > mine:
                place = place + 1
        report.append((place, student, round(mine, 2), letter(mine)))
    return report
