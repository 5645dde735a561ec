"""`labkit batch`: many notebooks on many devices, resumed after an interruption.

    plan.py      which notebooks, with which parameters: each checked against the notebook's own `parameters` cell
    state.py     what is done, on disk: one file for each notebook, which appears all at once
    job.py       one notebook on a worker: a process of its own, its device, its time limit; nothing is left behind
    schedule.py  Dask: a local cluster or one by its address, resources, workers that are lost
    report.py    result.json, junit.xml, index.html; the progress bar
    run.py       the command
    measured.py  modelled beside measured for each kernel, as a file for data/measured/

papermill runs a notebook (labkit.notebook.run); Dask decides where. Only the program that was started writes results:
a worker needs this version of labkit, and no folder that it shares with others.
"""
