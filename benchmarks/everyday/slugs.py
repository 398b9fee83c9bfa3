"""Titles as unique slugs."""

TITLES = [f"Some Title, No. {n % 90}! (draft)" for n in range(300)]
CALLS = [lambda: ([],), lambda: (["A b", "a B", "--"],), lambda: (TITLES,)]


def work(titles):
    slugs = []
    for title in titles:
        slug = ""
        for char in title.lower():
            if char in "abcdefghijklmnopqrstuvwxyz0123456789":
                slug += char
            elif len(slug) > 0 and slug[-1] != "-":
                slug += "-"
        slug = slug.strip("-")
        unique = slug
        number = 2
        while unique in slugs:
            unique = slug + "-" + str(number)
            number += 1
        slugs.append(unique)
    return slugs
