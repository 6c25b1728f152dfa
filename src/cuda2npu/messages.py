"""What the tool says to its user, in English and Chinese: one table, so that neither falls behind."""

from __future__ import annotations

from collections.abc import Mapping

MESSAGES: Mapping[str, tuple[str, str]] = {
    # Why a file was left alone.
    "excluded": ("excluded by the pattern {pattern}", "被模式 {pattern} 排除"),
    "not_python": ("not a Python file", "不是 Python 文件"),
    "special": ("a {what}: neither read nor copied", "{what}：既不读取也不复制"),
    "too_large": (
        "{size} MB: source above {limit} MB is not read; if it is data, exclude it",
        "{size} MB：超过 {limit} MB 的源文件不读取；如果是数据文件，请用 --exclude 排除",
    ),
    "link_out": (
        "a link that leads out of the tree, to {target}; convert that place by itself",
        "链接指向目录之外：{target}；请单独转换该位置",
    ),
    "link_loop": ("a link that leads back to itself, over {target}", "循环链接：{target}"),
    "not_read": ("can't be read: {reason}", "无法读取：{reason}"),
    "not_written": ("can't be written: {reason}", "无法写入：{reason}"),
    "not_copied": ("can't be copied: {reason}", "无法复制：{reason}"),
    "worker_died": (
        "the process that converted it died, perhaps for want of memory; left as it is",
        "转换该文件的进程意外终止（可能内存不足）；文件保持原样",
    ),
    "internal": (
        "a fault in cuda2npu ({reason}); left as it is, please report it",
        "cuda2npu 内部错误（{reason}）；文件保持原样，请反馈",
    ),
    "skip_file": (
        "the file has the comment '# cuda2npu: skip-file'",
        "文件中有注释 '# cuda2npu: skip-file'",
    ),
    "not_a_notebook": (
        "can't be read as a notebook: {reason}; left as it is",
        "无法作为 notebook 读取：{reason}；文件保持原样",
    ),
    "too_deep": ("an expression is nested too deeply to be analysed", "表达式嵌套过深，无法分析"),
    "syntax_error": ("syntax error in line {line}, column {column}", "第 {line} 行第 {column} 列语法错误"),
    "syntax_error_python_2": (
        "syntax error in line {line}, column {column}; Python 2 code must be ported first",
        "第 {line} 行第 {column} 列语法错误；Python 2 代码需先移植到 Python 3",
    ),
    "contradiction": (
        "the changes of two rules contradict each other ({reason}); please report this",
        "两条规则的修改互相冲突（{reason}）；请反馈",
    ),
    "would_not_compile": (
        "the converted file would not compile; left as it is, please report this",
        "转换后的文件无法编译；文件保持原样，请反馈",
    ),
    # The summary at the end of a run.
    "title": (
        "cuda2npu {version}, target: torch {torch} on {soc}",
        "cuda2npu {version}，目标：torch {torch}，{soc}",
    ),
    "files": ("files looked at", "查看的文件"),
    "changed": ("changed", "已修改"),
    "would_change": ("would change", "将修改"),
    "skipped": ("skipped", "跳过"),
    "failed": ("failed", "失败"),
    "sites": ("CUDA uses found", "发现的 CUDA 用法"),
    "safe": ("rewritten, safe", "已改写（安全）"),
    "unsafe": ("rewritten, unsafe", "已改写（需确认）"),
    "would_safe": ("to rewrite, safe", "可改写（安全）"),
    "would_unsafe": ("to rewrite, unsafe", "可改写（需确认）"),
    "offered": ("unsafe, shown but not applied", "需确认，仅展示未应用"),
    "offered_hint": ("see `cuda2npu check`, then use --unsafe", "用 cuda2npu check 查看，再用 --unsafe"),
    "person": ("left to a person", "需人工处理"),
    "blocker": ("won't run on the NPU", "在 NPU 上无法运行"),
    "manual": ("must be looked at", "需要检查"),
    "info": ("good to know", "仅供参考"),
    "kept": ("kept on purpose", "有意保留"),
    "first": ("These files need a person first:", "请优先处理以下文件："),
    "counts": ("{blocker} won't run, {manual} to look at", "{blocker} 处无法运行，{manual} 处需检查"),
    "more": ("and {count} more", "另有 {count} 项"),
    "failed_files": ("These files failed and were left as they are:", "以下文件失败，保持原样："),
    "skipped_files": ("These files were skipped:", "以下文件已跳过："),
    "copy_at": ("Copy:   {path}", "副本：{path}"),
    "report_at": ("Report: {path}", "报告：{path}"),
    "patch_at": ("Patch:  {path}", "补丁：{path}"),
    "next": ("Next: {what}", "下一步：{what}"),
    "next_failed": (
        "mend the failed files or --exclude them, and convert again.",
        "修复失败的文件或用 --exclude 排除，然后重新转换。",
    ),
    "next_dry": (
        "read the changes with --diff; write them with -o OUT or --in-place.",
        "用 --diff 查看改动；用 -o OUT 或 --in-place 写入。",
    ),
    "next_person": (
        "do what `cuda2npu check` lists for you; `cuda2npu rule CODE` says why.",
        "逐一处理需人工处理的位置：cuda2npu check 列出全部，cuda2npu rule 说明原因。",
    ),
    "next_read": (
        "read the changes, then run the program on the NPU and compare its results.",
        "审阅改动，然后在 NPU 上运行程序并对比结果。",
    ),
    "next_kept": (
        "nothing to convert: the CUDA words were kept, switched off or excluded; report.json lists them.",
        "无需转换：CUDA 字样均为有意保留、已关闭或已排除；详见 report.json。",
    ),
    "next_nothing": ("nothing to do: no CUDA use was found.", "无需操作：未发现 CUDA 用法。"),
    # One line per place.
    "line_change": ("{message}: {before} -> {after}", "{message}：{before} -> {after}"),
    "line_finding": ("{severity}: {message}: {token}", "{severity}：{message}：{token}"),
    "line_unsafe": ("{message} (unsafe: applied with --unsafe)", "{message}（需确认：用 --unsafe 应用）"),
    "failed_line": ("failed: {reason}", "失败：{reason}"),
    "checked": (
        "files: {files}, to rewrite: {rewritten}, unsafe: {offered}, for you: {person}, failed: {failed}",
        "文件：{files}，可改写：{rewritten}，需确认：{offered}，需人工处理：{person}，失败：{failed}",
    ),
    # The explanation of a rule.
    "why": ("Why", "原因"),
    "advice": ("What to do", "处理方法"),
    "example": ("Examples", "示例"),
    "is_kept": ("kept as it is", "保持不变"),
    "is_reported": ("reported to a person", "提示人工处理"),
    "off_by_default": ("only if selected", "仅在选用时生效"),
    "only_unsafe": ("with --unsafe", "使用 --unsafe 时"),
    "sources": ("Sources", "依据"),
    # Running a script.
    "run_simulated": (
        "cuda2npu: this is a SIMULATED NPU: it shows that the code works, not what an NPU computes",
        "cuda2npu：这是模拟的 NPU：只能说明代码可以运行，不代表真实 NPU 的计算结果",
    ),
    "run_cpu_as_cuda": (
        "cuda2npu: CUDA calls are mapped to the CPU: a reference to compare with, no GPU",
        "cuda2npu：CUDA 调用已映射到 CPU：仅作对比参考，并非 GPU",
    ),
    "run_nothing": (
        "cuda2npu: no operator ran on the device: the script never used the NPU",
        "cuda2npu：没有任何算子在设备上运行：脚本没有使用 NPU",
    ),
    "run_counts": (
        "cuda2npu: simulated NPU: {operators} operators of {kinds} kinds,"
        " {devices} device(s), {processes} process(es), peak memory {peak} MB",
        "cuda2npu：模拟 NPU：{operators} 次算子调用，{kinds} 种，"
        "{devices} 个设备，{processes} 个进程，内存峰值 {peak} MB",
    ),
    # While it runs.
    "converting": ("converting", "转换"),
}


def say(key: str, lang: str, **values: object) -> str:
    """Return the message ``key`` in ``lang`` (``en`` or ``zh``), with ``values`` filled in."""
    english, chinese = MESSAGES[key]
    return (chinese if lang == "zh" else english).format(**values)
