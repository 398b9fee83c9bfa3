"""Employees and the people they report to."""

from typing import List, Optional


class Employee:
    """One employee."""

    def __init__(self, employee_id: int, name: str, manager_id: Optional[int], salary: int) -> None:
        self._employee_id = employee_id
        self._name = name
        self._manager_id = manager_id
        self._salary = salary

    def get_employee_id(self) -> int:
        return self._employee_id

    def get_name(self) -> str:
        return self._name

    def get_manager_id(self) -> Optional[int]:
        return self._manager_id

    def get_salary(self) -> int:
        return self._salary


class OrgChart:
    """All employees of a company."""

    def __init__(self) -> None:
        self._employees: List[Employee] = []

    def add_employee(self, employee: Employee) -> None:
        """Add an employee whose id is new."""
        if self.find_by_id(employee.get_employee_id()) is not None:
            raise ValueError("duplicate id: " + str(employee.get_employee_id()))
        self._employees.append(employee)

    def find_by_id(self, employee_id: int) -> Optional[Employee]:
        """Return the employee with the id, or None."""
        for employee in self._employees:
            if employee.get_employee_id() == employee_id:
                return employee
        return None

    def is_below(self, employee: Employee, manager: Employee) -> bool:
        """Whether the manager is somewhere above the employee."""
        manager_id = employee.get_manager_id()
        while manager_id is not None:
            if manager_id == manager.get_employee_id():
                return True
            above = self.find_by_id(manager_id)
            if above is None:
                return False
            manager_id = above.get_manager_id()
        return False

    def payroll_by_manager(self) -> List[str]:
        """Return "name: people, salary" for all who have people below, most people first, then by name."""
        rows = []
        for manager in self._employees:
            people = 0
            salary = 0
            for employee in self._employees:
                if self.is_below(employee, manager):
                    people += 1
                    salary += employee.get_salary()
            if people > 0:
                rows.append((-people, manager.get_name(), salary))
        rows.sort()
        return [name + ": " + str(-people) + ", " + str(salary) for people, name, salary in rows]
