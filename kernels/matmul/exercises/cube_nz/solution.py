# Where an element of a half matrix lies in NZ, counted in elements from the start.
def nz_place(row, column, rows):
    tall = (rows + 15) // 16 * 16  # rows with those that fill up the last fractal
    # >>> exercise: place = what lies before this column of fractals + the rows before + the columns before | place = 之前各列分形 + 之前各行 + 之前各列元素
    # stub: place = row * tall + column
    place = column // 16 * tall * 16 + row * 16 + column % 16
    # <<<
    return place
