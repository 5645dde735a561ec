"""What a book has besides its chapters: a glossary, a map of what depends on what, a board of one's progress, and the
documentation line of each Ascend C name while one types.

glossary.py   the words of the field, from notebooks/source/glossary.toml
chapters.py   the notebooks as a book sees them: number, title, minutes, exercises, what is needed before
journey.py    the map of the notebooks, and for each stage where to go on if it is easy
board.py      notebooks x exercises with their states, from the learner's log
names.py      a line for each name of the API, from api.toml
complete.py   those lines in IPython: completion in C++ cells, and Shift-Tab
"""
