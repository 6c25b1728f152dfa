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
    "first_megabyte": ("of its first MiB; it isn't read further", "仅查看了前 1 MiB"),
    "not_utf_8": ("not UTF-8, so it isn't converted", "不是 UTF-8 编码，因此不转换"),
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
    "offered_hint": ("see `{check}`, then use --unsafe", "用 {check} 查看，再用 --unsafe"),
    "person": ("left to a person", "需人工处理"),
    "blocker": ("won't run on the NPU", "在 NPU 上无法运行"),
    "manual": ("must be looked at", "需要检查"),
    "info": ("good to know", "仅供参考"),
    "kept": ("kept on purpose", "有意保留"),
    "first": ("These files need a person first:", "请优先处理以下文件："),
    "counts": ("{blocker} won't run, {manual} to look at", "{blocker} 处无法运行，{manual} 处需检查"),
    "other_torch": (
        "{path} requires torch {version}: to keep that version, use --torch {version}.",
        "{path} 要求 torch {version}：如需保留该版本，请使用 --torch {version}。",
    ),
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
        "do what `{check}` lists for you; `cuda2npu rule CODE` says why.",
        "逐一处理需人工处理的位置：{check} 列出全部，cuda2npu rule CODE 说明原因。",
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
    "with_note": ("{message}: {note}", "{message}：{note}"),
    "with_remark": ("{message} ({remark})", "{message}（{remark}）"),
    "line_change": ("{message}: {before} -> {after}", "{message}：{before} -> {after}"),
    "line_insert": ("{message}: inserts {after}", "{message}：插入 {after}"),
    "line_remove": ("{message}: removes {before}", "{message}：删除 {before}"),
    "line_finding": ("{severity}: {message}: {token}", "{severity}：{message}：{token}"),
    "line_advice": ("{line}. {advice}", "{line}。{advice}"),
    "line_unsafe": ("{message} (unsafe: applied with --unsafe)", "{message}（需确认：用 --unsafe 应用）"),
    "failed_line": ("failed: {reason}", "失败：{reason}"),
    "checked": (
        "files: {files}, to rewrite: {rewritten}, unsafe: {offered}, for you: {person},"
        " good to know: {info}, failed: {failed}",
        "文件：{files}，可改写：{rewritten}，需确认：{offered}，需人工处理：{person}，仅供参考：{info}，失败：{failed}",
    ),
    # The explanation of a rule.
    "why": ("Why", "原因"),
    "advice": ("What to do", "处理方法"),
    "rows": ("What it is about", "适用对象"),
    "more_rows": (
        "and {count} more; cuda2npu rule {code} --format json has them all",
        "另有 {count} 项；完整列表见 cuda2npu rule {code} --format json",
    ),
    "example": ("Examples", "示例"),
    "is_kept": ("kept as it is", "保持不变"),
    "is_reported": ("reported to a person", "提示人工处理"),
    "off_by_default": ("only if selected", "仅在选用时生效"),
    "only_unsafe": ("with --unsafe", "使用 --unsafe 时"),
    "sources": ("Sources", "依据"),
    # The examples of rules as tests.
    "test_differs": ("something else comes out (- expected, + found):", "转换结果不同（- 期望，+ 实际）："),
    "test_other_rule": (
        "{code} has nothing to do with it; the rules that have: {others}",
        "{code} 没有起作用；起作用的规则：{others}",
    ),
    "test_not_kept": ("{code} reports it", "{code} 对它给出了提示"),
    "test_again": (
        "converting the result again changes it (- once, + twice):",
        "再次转换结果又有变化（- 第一次，+ 第二次）：",
    ),
    "test_failed": ("{code} example {number}: {reason}", "{code} 示例 {number}：{reason}"),
    "test_sum": (
        "examples: {examples}, of rules: {rules}, failed: {failed}",
        "示例：{examples}，规则：{rules}，失败：{failed}",
    ),
    # Running a script.
    "run_simulated": (
        "cuda2npu: this is a SIMULATED NPU: it shows that the code works, not what an NPU computes",
        "cuda2npu：这是模拟的 NPU：只能说明代码可以运行，不代表真实 NPU 的计算结果",
    ),
    "run_cpu_as_cuda": (
        "cuda2npu: CUDA calls are mapped to the CPU: a reference to compare with, no GPU",
        "cuda2npu：CUDA 调用已映射到 CPU：仅作对比参考，并非 GPU",
    ),
    "capture_done": (
        "cuda2npu: {steps} step(s) recorded in {folder}",
        "cuda2npu：已记录 {steps} 步，保存在 {folder}",
    ),
    "capture_elsewhere": (
        "cuda2npu: no recorded tensor was on the {device}: the program computed elsewhere",
        "cuda2npu：记录中没有任何张量位于 {device} 上：程序在其他设备上运行",
    ),
    "run_nothing": (
        "cuda2npu: no operator ran on the device: the script never used the NPU",
        "cuda2npu：没有任何算子在设备上运行：脚本没有使用 NPU",
    ),
    "run_failed": (
        "cuda2npu: the script failed (exit status {code}) before any operator ran on the simulated NPU",
        "cuda2npu：脚本失败（退出码 {code}），此前没有任何算子在模拟 NPU 上运行",
    ),
    "run_stopped": (
        "cuda2npu: a signal ended the script before it could say what ran on the simulated NPU",
        "cuda2npu：脚本被信号终止，未能统计在模拟 NPU 上运行的算子",
    ),
    "run_counts": (
        "cuda2npu: simulated NPU: {operators} operators of {kinds} kinds,"
        " {devices} device(s), {processes} process(es), peak memory {peak} MB",
        "cuda2npu：模拟 NPU：{operators} 次算子调用，{kinds} 种，"
        "{devices} 个设备，{processes} 个进程，内存峰值 {peak} MB",
    ),
    # The analysis of a repository.
    "analysis_size": (
        "Python files: {python_files}, of these notebooks: {notebooks}; lines of code: {lines}."
        " Nothing was run, and nothing was written.",
        "Python 文件：{python_files}，其中 notebook：{notebooks}；代码行数：{lines}。"
        "未运行任何代码，也未写入任何文件。",
    ),
    "analysis_native_size": (
        "CUDA sources (.cu, .cuh): {native_files}, lines: {native_lines}; they aren't converted.",
        "CUDA 源文件（.cu、.cuh）：{native_files}，行数：{native_lines}；不会被转换。",
    ),
    "analysis_npu": (
        "Python files that use an NPU already: {npu_files}.",
        "已经用到 NPU 的 Python 文件：{npu_files}。",
    ),
    "analysis_left_out": (
        "Failed: {failed}, skipped: {skipped}; what is in them isn't counted.",
        "失败：{failed}，跳过：{skipped}；其内容未计入。",
    ),
    "analysis_places": ("Places that need a change ({total})", "需要改动的位置（{total}）"),
    "analysis_safe": ("are converted by themselves", "自动转换"),
    "analysis_offered": ("are converted with --unsafe", "用 --unsafe 转换"),
    "analysis_manual": ("must be looked at", "需要检查"),
    "analysis_blocker": ("won't run on an NPU", "在 NPU 上无法运行"),
    "analysis_aside": (
        "Good to know: {info}. CUDA words kept on purpose: {kept}.",
        "仅供参考：{info}。有意保留的 CUDA 字样：{kept}。",
    ),
    "analysis_apart": (
        "Not among these places: in CUDA sources {native}, lines outside of Python that mention CUDA and"
        " stay, in {mentions} files. `convert` counts all together: {every}.",
        "以上位置不含：CUDA 源文件中的 {native} 处；{mentions} 个非 Python 文件中提到 CUDA 且保持原样的行。"
        "convert 把它们一并计入，共 {every} 处。",
    ),
    "analysis_mentioned": (
        "To look at there, too: lines that mention CUDA and stay (NPU903), in {files}.",
        "其中还需检查提到 CUDA 且保持原样的行（NPU903）：{files}。",
    ),
    "analysis_no_uses": ("No CUDA use was found.", "未发现 CUDA 用法。"),
    "analysis_no_other_uses": (
        "No CUDA use was found in the files that were looked at.",
        "已检查的文件均未使用 CUDA。",
    ),
    "analysis_effort": ("Python files by effort", "按工作量划分的 Python 文件"),
    "effort": ("effort", "工作量"),
    "share": ("share", "占比"),
    "meaning": ("meaning", "含义"),
    "effort_none": ("none: nothing to do", "无: 无需处理"),
    "effort_low": ("low: safe changes only; they are applied by themselves", "低: 只有安全改动，自动应用"),
    "effort_medium": (
        "medium: something to look at, or a change that is only made with --unsafe",
        "中: 有需要检查的位置，或需用 --unsafe 的改动",
    ),
    "effort_high": (
        "high: something that won't run on an NPU, or a file that can't be read",
        "高: 有在 NPU 上无法运行的代码，或文件无法读取",
    ),
    "analysis_blockers": ("Won't run on an NPU", "在 NPU 上无法运行"),
    "analysis_person": ("Must be looked at", "需要检查"),
    "analysis_person_too": ("Must be looked at, beside those above", "其他需要检查的位置"),
    "analysis_unsafe": ("Converted with --unsafe only", "仅用 --unsafe 时转换"),
    "analysis_packages": ("Packages that need a decision", "需要决策的软件包"),
    "analysis_optional": (", imported only where it is there", "，仅在已安装时导入"),
    "state_none": ("nothing for Ascend: ", "没有昇腾版本: "),
    "state_replace": ("to be replaced: ", "需要替换: "),
    "state_port": ("has a build for Ascend: ", "有昇腾版本: "),
    "state_listed": ("made for NVIDIA's hardware: ", "面向 NVIDIA 硬件: "),
    "state_torch": (
        "Built on torch; they work as far as they don't use CUDA themselves:",
        "基于 torch；只要自身不使用 CUDA 即可工作：",
    ),
    "state_unknown": (
        "Not in the tables of cuda2npu; whether they use CUDA isn't known:",
        "不在 cuda2npu 的表中，是否使用 CUDA 未知：",
    ),
    "state_works": ("Work as they are:", "可直接使用："),
    "with_count": ("{title} ({count})", "{title}（{count}）"),
    "analysis_native": ("CUDA sources: {files} files, {lines} lines", "CUDA 源文件：{files} 个，{lines} 行"),
    "analysis_operators": ("Operators and dtypes at risk", "有风险的算子和数据类型"),
    "analysis_configuration": (
        "Scripts and configurations that mention CUDA",
        "提到 CUDA 的脚本和配置文件",
    ),
    "analysis_files": ("Files with the most work", "工作量最大的文件"),
    "analysis_unknown": ("What isn't known", "尚不清楚的内容"),
    "analysis_not_run": (
        "This is read from the source alone. It doesn't show precision or speed on an NPU, what packages do"
        " inside, nor code that is loaded at run time.",
        "以上仅由源代码得出，不能说明 NPU 上的精度和速度、软件包内部的行为，以及运行时加载的代码。",
    ),
    "analysis_next": ("What to do next", "下一步"),
    "analysis_next_kept": (
        "nothing to convert: the CUDA words were kept, switched off or excluded; "
        "`cuda2npu convert --report DIR` lists them.",
        "无需转换：CUDA 字样均为有意保留、已关闭或已排除；用 `cuda2npu convert --report DIR` 查看明细。",
    ),
    "analysis_more": (
        "and {count} more; --format json has them all",
        "另有 {count} 项；完整列表见 --format json",
    ),
    "lines": ("lines", "行数"),
    "file": ("file", "文件"),
    "rule": ("rule", "规则"),
    "weight": ("weight", "程度"),
    "name": ("name", "名称"),
    "first_place": ("first place", "首次出现"),
    "files_of_folder": ("{path} ({count} files)", "{path}（{count} 个文件）"),
    "wont_run": ("won't run", "无法运行"),
    "to_convert": ("converted", "可转换"),
    "to_look_at": ("to look at", "需检查"),
    "unsafe_short": ("unsafe", "需确认"),
    "step_failed": (
        "Mend the files that failed, or leave them out: nothing is known of what they use.",
        "修复失败的文件，或将其排除：其中用到了什么尚不清楚。",
    ),
    "step_rule": (
        "Why the most frequent of the blockers won't run, and what to do.",
        "最常见的阻塞项的原因和处理方法。",
    ),
    "step_diff": (
        "What would change, line by line; nothing is written.",
        "逐行查看将要修改的内容；不写入文件。",
    ),
    "step_convert": (
        "A complete converted copy with a report; add --unsafe when you have read those changes.",
        "生成完整的转换副本和报告；审阅需确认的改动后可加 --unsafe。",
    ),
    "step_run": ("The result on a simulated NPU, on any machine.", "在任意机器上用模拟 NPU 运行结果。"),
    "step_doctor": (
        "On the server: whether torch, torch_npu, CANN and driver fit.",
        "在服务器上：检查 torch、torch_npu、CANN 和驱动是否匹配。",
    ),
    "inventory_lacks": (
        "cuda2npu: operators that torch_npu {version} lacks: {none}; that it computes on the CPU: {cpu}",
        "cuda2npu：torch_npu {version} 缺失的算子：{none}；在 CPU 上计算的算子：{cpu}",
    ),
    "inventory_nothing": (
        "cuda2npu: no inventory: no process that imported torch came to its end",
        "cuda2npu：没有算子清单：没有导入 torch 并正常结束的进程",
    ),
    "inventory_none_of_them": ("none", "无"),
    "inventory_more": ("and {count} more", "另有 {count} 项"),
    # Verification.
    "verify_reference": ("cuda2npu: running the original", "cuda2npu：运行原始代码"),
    "verify_golden": ("cuda2npu: running the original in float64", "cuda2npu：以 float64 运行原始代码"),
    "verify_candidate": ("cuda2npu: running the conversion", "cuda2npu：运行转换后的代码"),
    "verify_repeat": ("cuda2npu: running the conversion once more", "cuda2npu：再次运行转换后的代码"),
    "verify_compare": ("cuda2npu: comparing", "cuda2npu：比较"),
    "rank_verdict": ("Rank {rank}: {verdict}", "进程 {rank}：{verdict}"),
    "self_test_good": (
        "{runs} runs: every planted fault was found, and no correct run accused",
        "共 {runs} 次运行：植入的错误全部被发现，正确的运行没有被误判",
    ),
    "self_test_wrong": (
        "{wrong} of {runs} runs were judged wrongly: don't rely on verdicts of this version",
        "{runs} 次运行中有 {wrong} 次判断错误：请勿依赖此版本的结论",
    ),
    "verify_report": ("cuda2npu: the report is {path}", "cuda2npu：报告位于 {path}"),
    # While it runs.
    "converting": ("converting", "转换"),
}


def say(key: str, lang: str, **values: object) -> str:
    """Return the message ``key`` in ``lang`` (``en`` or ``zh``), with ``values`` filled in."""
    english, chinese = MESSAGES[key]
    return (chinese if lang == "zh" else english).format(**values)
