"""What the page says, in English and Chinese: it holds both, and switches between them."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, tuple[str, str]] = {
    # The verdict.
    "title": ("Comparison", "对比报告"),
    "switch": ("中文", "English"),
    "headline.pass": ("Computes the same", "计算结果一致"),
    "headline.warn": ("Computes nearly the same: look at the warnings", "计算结果基本一致：请查看警告"),
    "headline.fail": ("Does not compute the same", "计算结果不一致"),
    "headline.incomparable": ("Could not be compared", "无法完成对比"),
    "verdict.pass": ("pass", "通过"),
    "verdict.warn": ("warn", "警告"),
    "verdict.fail": ("fail", "不通过"),
    "verdict.incomparable": ("incomparable", "无法比较"),
    "device.npu": ("real NPU", "真实 NPU"),
    "device.simulated": ("SIMULATED NPU, not a real one", "模拟 NPU，非真实设备"),
    "device.cuda": ("GPU: no NPU took part", "GPU：未使用 NPU"),
    "device.cpu": ("CPU: no NPU took part", "CPU：未使用 NPU"),
    "device.cpu-as-cuda": ("CPU: no NPU took part", "CPU：未使用 NPU"),
    "records": ("records", "条记录"),
    "decided.table": (
        "Each record is judged by the table of thresholds for its type.",
        "每条记录按其数据类型的阈值表判定。",
    ),
    "decided.guide": (
        "Each record is judged by the rule of the migration guides: cosine > 0.99 and largest absolute "
        "error < 0.01.",
        "每条记录按迁移指南的规则判定：余弦相似度 > 0.99 且最大绝对误差 < 0.01。",
    ),
    "golden": (
        "The reference was computed in float64: errors are those against the exact result.",
        "参考以 float64 计算：误差即相对精确结果的误差。",
    ),
    "benchmark.yes": (
        "Errors are weighed against those of a second benchmark.",
        "误差与第二标杆的误差进行比较。",
    ),
    "benchmark.no": (
        "There is no second benchmark: thresholds alone decided.",
        "没有第二标杆：仅按阈值判定。",
    ),
    # What a simulation is worth.
    "simulated.title": ("This was a simulation, not an NPU", "这是模拟运行，不是真实 NPU"),
    "simulated.proves": (
        "What it shows: the code calls only what torch_npu has, puts tensors where they belong, and does the "
        "same arithmetic as the reference: placement, types, autograd, mixed precision, checkpoints, process "
        "groups.",
        "可以证明：代码只调用 torch_npu 提供的接口，张量位于正确的设备上，运算与参考相同；"
        "覆盖设备放置、数据类型、自动求导、混合精度、检查点和进程组。",
    ),
    "simulated.not": (
        "What it can't show: that the NPU's own kernels are there and exact enough, how fast they are, and "
        "how much memory "
        "they take. For that, run cuda2npu capture on an NPU and compare it with the same reference.",
        "无法证明：NPU 算子是否存在、精度是否达标，以及速度和显存占用。请在 NPU 上运行 cuda2npu capture，"
        "再与同一参考对比。",
    ),
    "no_npu": (
        "No NPU took part, neither a real one nor a simulated one: this says nothing of how the code "
        "behaves there.",
        "未使用任何 NPU（真实或模拟）：本结果不能说明代码在 NPU 上的表现。",
    ),
    # Levels.
    "levels": ("Levels", "验证级别"),
    "level.build": ("imports and builds", "导入并构建"),
    "level.forward": ("forward", "前向"),
    "level.backward": ("backward", "反向"),
    "level.train": ("training steps", "训练步"),
    "level.evaluate": ("validation set", "验证集"),
    "level.missed": ("not reached", "未达到"),
    # The first divergence.
    "first": ("Where they part first", "首个分歧点"),
    "first.step": ("step", "步"),
    "first.none": ("Nowhere: no record diverges.", "无：没有记录出现分歧。"),
    "first.show": ("Show it in the table", "在表格中查看"),
    "notes": ("To know before you trust this", "使用本结果前须知"),
    # Charts.
    "chart": ("Error along the network", "误差沿网络的变化"),
    "chart.what": (
        "Relative norm of the error, in the order of execution; where only statistics are known, |norm "
        "ratio − 1|. "
        "Point at a mark, or step along with the arrow keys; a click or Enter shows the record.",
        "误差的相对范数，按执行顺序排列；仅有统计量时为 |范数比 − 1|。"
        "用鼠标或方向键选择标记，单击或按 Enter 查看记录。",
    ),
    "chart.y": ("relative norm of the error", "误差相对范数"),
    "chart.first": ("first divergence", "首个分歧点"),
    "chart.benchmark": ("second benchmark", "第二标杆"),
    "chart.exact": ("exact", "完全一致"),
    "chart.unmeasured": ("incomparable, not measured", "无法比较，未测量"),
    "chart.empty": ("No record has an error that could be measured.", "没有可测量误差的记录。"),
    "phase.forward": ("forward", "前向"),
    "phase.backward": ("backward", "反向"),
    "phase.update": ("update", "参数更新"),
    "curves": ("By step", "逐步曲线"),
    "curve.loss": ("loss", "损失"),
    "curve.learning_rate": ("learning rate", "学习率"),
    "curve.metric": ("metric", "指标"),
    "curve.values": ("Values", "数值"),
    "curve.difference": ("difference", "差值"),
    # The table.
    "table": ("Records", "记录"),
    "column.index": ("#", "序号"),
    "column.step": ("Step", "步"),
    "column.name": ("Module", "模块"),
    "column.kind": ("Kind", "类别"),
    "column.verdict": ("Verdict", "结论"),
    "column.rule": ("Rule", "规则"),
    "column.message": ("Found", "判定依据"),
    "column.cosine": ("Cosine", "余弦相似度"),
    "column.relative_norm": ("Relative norm", "相对范数"),
    "column.norm_ratio": ("Norm ratio", "范数比"),
    "column.max_absolute": ("Max abs", "最大绝对误差"),
    "column.added": ("Added", "新增误差"),
    "kind.input": ("input", "输入"),
    "kind.output": ("output", "输出"),
    "kind.input_gradient": ("gradient of input", "输入梯度"),
    "kind.output_gradient": ("gradient of output", "输出梯度"),
    "kind.gradient": ("gradient of parameter", "参数梯度"),
    "kind.buffer": ("buffer after the step", "步末缓冲区"),
    "kind.parameter": ("parameter after the step", "更新后参数"),
    "kind.loss": ("loss", "损失"),
    "kind.learning_rate": ("learning rate", "学习率"),
    "kind.metric": ("metric", "指标"),
    "kind.random_state": ("random state", "随机状态"),
    "filter.text": ("Module, source, rule or message", "模块、源码位置、规则或判定依据"),
    "filter.kind": ("Kind", "类别"),
    "filter.every_kind": ("every kind", "全部类别"),
    "filter.step": ("Step", "步"),
    "filter.every_step": ("every step", "全部步"),
    "filter.verdict": ("Verdict", "结论"),
    "filter.reset": ("Reset", "重置"),
    "shown": ("{shown} shown, {found} of {all} match", "显示 {shown} 条，匹配 {found}/{all} 条"),
    "more": ("Show {count} more", "再显示 {count} 条"),
    "everything": ("Show all {count}", "显示全部 {count} 条"),
    "nothing": ("No record matches.", "没有匹配的记录。"),
    "no_script": (
        "Charts and table need JavaScript; comparison.json and compare_result.csv hold the same.",
        "图表和表格需要 JavaScript；comparison.json 和 compare_result.csv 包含相同内容。",
    ),
    # The details of a record.
    "details": ("Details of {name}", "{name} 的详细信息"),
    "call": ("call {call}", "第 {call} 次调用"),
    "metric": ("Metric", "指标"),
    "metrics.cosine": ("cosine similarity", "余弦相似度"),
    "metrics.norm_ratio": ("norm of candidate / norm of reference", "范数比（候选 / 参考）"),
    "metrics.relative_norm": ("norm of the error / norm of the reference", "误差范数 / 参考范数"),
    "metrics.max_absolute": ("largest absolute error", "最大绝对误差"),
    "metrics.mean_absolute": ("mean absolute error", "平均绝对误差"),
    "metrics.rms": ("root of mean squared error", "均方根误差"),
    "metrics.max_relative": ("largest relative error, without small values", "最大相对误差（不含小值）"),
    "metrics.mean_relative": ("mean relative error, without small values", "平均相对误差（不含小值）"),
    "metrics.small_errors": ("share of small values with too large an error", "小值误差超标比例"),
    "metrics.balance": ("balance of the signs of the errors", "误差均衡性"),
    "metrics.thousandth": ("share with a relative error below 1/1000", "相对误差小于千分之一的比例"),
    "metrics.five_thousandths": ("share with a relative error below 5/1000", "相对误差小于千分之五的比例"),
    "metrics.nan_mismatches": ("positions where one alone is nan", "仅一侧为 nan 的位置数"),
    "metrics.inf_mismatches": ("positions with unequal infinities", "inf 不一致的位置数"),
    "metrics.elements": ("elements compared", "参与对比的元素数"),
    "quantile": ("absolute error at {percent} %", "绝对误差 {percent}% 分位"),
    "added": ("error added by this call (relative norm)", "本次调用新增误差（相对范数）"),
    "noise": ("largest difference between two equal runs", "两次相同运行的最大差异"),
    "worst": ("worst element", "误差最大的元素"),
    "both": ("Both sides", "两侧数据"),
    "dtype": ("dtype", "数据类型"),
    "shape": ("shape", "形状"),
    "value": ("value", "值"),
    "minimum": ("smallest", "最小值"),
    "maximum": ("largest", "最大值"),
    "mean": ("mean", "均值"),
    "norm": ("norm", "范数"),
    "nan": ("nan elements", "nan 元素数"),
    "inf": ("infinite elements", "inf 元素数"),
    "source": ("source", "源码位置"),
    "class": ("class", "模块类"),
    "missing": ("not there", "不存在"),
    # Sides.
    "reference": ("Reference", "参考"),
    "candidate": ("Candidate", "候选"),
    "benchmark": ("Second benchmark", "第二标杆"),
    "side.what": ("what ran", "运行内容"),
    "side.device": ("device", "设备"),
    "side.dtype": ("cast to", "转换为"),
    "side.folder": ("capture", "采集目录"),
    "environment": ("Environment", "运行环境"),
    "environment.entry": ("Entry", "项目"),
    "environment.differs": ("differs", "不同"),
    "environment.only": ("Only what differs", "仅显示不同项"),
    "environment.none": ("The captures say nothing of their environment.", "采集数据中没有环境信息。"),
    # Operators.
    "inventory": ("Operators of the candidate", "候选侧的算子"),
    "inventory.for": ("for torch {torch} on {soc}", "目标 torch {torch}，{soc}"),
    "inventory.operators": ("operators", "种算子"),
    "inventory.operator": ("Operator", "算子"),
    "inventory.class": ("On the target", "目标设备支持"),
    "inventory.calls": ("Calls", "调用次数"),
    "inventory.dtypes": ("dtypes", "数据类型"),
    "inventory.shapes": ("Shapes", "形状"),
    "class.kernel": ("NPU kernel", "NPU 算子"),
    "class.composite": ("composite of others", "由其他算子组合"),
    "class.cpu": ("falls back to the CPU", "回退到 CPU"),
    "class.none": ("none: it fails", "不支持：会报错"),
    "class.unknown": ("not known", "未知"),
    "inventory.source": ("First at", "首次出现位置"),
    "inventory.transfers": ("copies between host and device", "次主机与设备间拷贝"),
    "inventory.syncs": ("waits of the host for the device", "次主机等待设备"),
    "inventory.dynamic": ("different shapes at places where they change", "种变化的形状"),
    "inventory.transfers.where": ("Where data is copied between host and device", "主机与设备间拷贝的位置"),
    "inventory.syncs.where": ("Where the host waits for the device", "主机等待设备的位置"),
    "inventory.dynamic.where": ("Where shapes change from call to call", "形状随调用变化的位置"),
    "more_shapes": ("and {count} more", "另有 {count} 种"),
    # The end.
    "help": ("How to read this", "如何阅读本报告"),
    "help.verdicts": (
        "pass: the error is as small as the type allows, or as that of the benchmark. warn: larger, but no "
        "proof of a fault. "
        "fail: larger than rounding explains. incomparable: one side lacks it, or the shapes differ; it is "
        "never counted as a pass.",
        "通过：误差在数据类型允许的范围内，或与第二标杆相当。警告：误差偏大，但不足以说明有错误。不通过：误差超出舍入所能解释的范围。"
        "无法比较：某一侧缺失或形状不同，绝不计为通过。",
    ),
    "help.metrics": (
        "The cosine is blind to scale, so look at the norm ratio beside it (1 is right). The relative norm "
        "compares the error "
        "with the tensor as a whole, so that values near zero don't spoil it. Added is what this module's "
        "call added to the error of its inputs.",
        "余弦相似度对缩放不敏感，请同时查看范数比（正确值为 1）。"
        "相对范数把误差与整个张量相比，不受接近零的值影响。"
        "新增误差是本次模块调用在其输入误差之上增加的误差。",
    ),
    "help.files": (
        "Beside this page: comparison.json holds everything, for programs; compare_result.csv has msprobe's "
        "columns.",
        "同目录下：comparison.json 包含全部数据，供程序读取；compare_result.csv 采用 msprobe 的列名。",
    ),
    "made": ("Made by cuda2npu {version}", "由 cuda2npu {version} 生成"),
}
