"""An edit of a generated kernel."""


def edit(source):
    """The Ascend C of rms_norm(x + r) * w, changed so that it computes rms_norm(x + r) * (1 + w). The weight comes in
    once, before all tiles, and becomes float in the line `line`."""
    line = "        Cast(w_float, w_in, RoundMode::CAST_NONE, pitch);\n"
    assert source.count(line) == 1
    # >>> exercise: `edited`: one more line of Ascend C behind `line`; that line adds 1 to all of w_float (1 or 2 lines) | `edited`：在 `line` 之后加一行 Ascend C，给 w_float 的每个元素加 1（1 到 2 行）
    # stub: edited = source
    edited = source.replace(line, line + "        Adds(w_float, w_float, 1.0f, pitch);\n")
    # <<<
    return edited
