"""One step of the game of life on a bounded board."""

import random

R = random.Random(7)
BOARD = [[R.randrange(2) for _ in range(45)] for _ in range(45)]
CALLS = [lambda: ([],), lambda: ([[0, 1, 0], [0, 1, 0], [0, 1, 0]],), lambda: (BOARD,)]


def work(board):
    new_board = []
    for i in range(len(board)):
        row = []
        for j in range(len(board[i])):
            neighbours = 0
            for di in [-1, 0, 1]:
                for dj in [-1, 0, 1]:
                    if di == 0 and dj == 0:
                        continue
                    if i + di >= 0 and i + di < len(board) and j + dj >= 0 and j + dj < len(board[i]):
                        if board[i + di][j + dj] == 1:
                            neighbours += 1
            if board[i][j] == 1 and neighbours in [2, 3]:
                row.append(1)
            elif board[i][j] == 0 and neighbours == 3:
                row.append(1)
            else:
                row.append(0)
        new_board.append(row)
    return new_board
