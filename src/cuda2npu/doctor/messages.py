"""What the doctor says, in English and Chinese: one table, so that neither falls behind.

A line that begins with ``$`` is a command; it is never broken when it is printed.
"""

from __future__ import annotations

from collections.abc import Mapping

MESSAGES: Mapping[str, tuple[str, str]] = {
    # The page.
    "title": ("cuda2npu doctor {version}", "cuda2npu doctor {version}"),
    "ok": ("ok", "正常"),
    "warning": ("warning", "警告"),
    "fault": ("fault", "故障"),
    "summary": ("Faults: {faults}, warnings: {warnings}", "故障 {faults} 项，警告 {warnings} 项"),
    "summary_ok": ("Nothing wrong was found.", "未发现问题。"),
    "next_simulator": (
        "There is no NPU here; only the simulator can run converted programs.",
        "本机没有 NPU，只能用模拟器运行转换后的程序。",
    ),
    "table": ("Compatibility: {source}, {date}", "版本配套依据：{source}，{date}"),
    # Python, torch, torch_npu, and whether they go together.
    "python": ("Python {python}, {executable}", "Python {python}，{executable}"),
    "python_unsupported": (
        "Python {python}, but torch_npu for torch {torch} supports {supported}",
        "Python {python}，而 torch {torch} 对应的 torch_npu 支持 {supported}",
    ),
    "python_never": (
        "Python {python}, but torch_npu supports {supported}",
        "Python {python}，而 torch_npu 支持 {supported}",
    ),
    "python_fix": (
        "Make an environment with a supported Python, and install torch and torch_npu there.\n"
        "$ conda create -n npu python={wanted}",
        "用受支持的 Python 新建环境，并在其中安装 torch 和 torch_npu。\n$ conda "
        "create -n npu python={wanted}",
    ),
    "python_unknown": (
        "Python {python}; the table of {date} doesn't know torch {torch}, so it can't be checked",
        "Python {python}；{date} 的配套表中没有 torch {torch}，无法核对",
    ),
    "look_at_page": (
        "See COMPATIBILITY.md of torch_npu for its newest releases.",
        "最新版本请查看 torch_npu 的 COMPATIBILITY.md。",
    ),
    "torch": ("torch {torch}", "torch {torch}"),
    "torch_missing": (
        "torch is not installed for {executable}",
        "{executable} 中未安装 torch",
    ),
    "torch_fix": (
        "Install its CPU build; torch_npu adds the NPU. If torch is in another environment, run the "
        "doctor of that one.\n$ pip install {torch}",
        "安装 CPU 版，NPU 由 torch_npu 提供。如果 torch 在其他环境中，请在该环境中运行 doctor。\n"
        "$ pip install {torch}",
    ),
    "torch_cuda": (
        "torch {torch} is a build for CUDA {cuda}; torch_npu is made for the CPU build, and refuses to load "
        "where an NVIDIA GPU is active",
        "torch {torch} 是 CUDA {cuda} 版；torch_npu 配套 CPU 版，且在 NVIDIA GPU 可用时拒绝加载",
    ),
    "torch_cuda_fix": (
        "Install the CPU build.\n$ pip install --force-reinstall {torch}",
        "安装 CPU 版。\n$ pip install --force-reinstall {torch}",
    ),
    "torch_npu": ("torch_npu {torch_npu}", "torch_npu {torch_npu}"),
    "torch_npu_missing": ("torch_npu is not installed", "未安装 torch_npu"),
    "torch_npu_fix": (
        "Install it.\n$ pip install torch_npu=={torch_npu}",
        "请安装。\n$ pip install torch_npu=={torch_npu}",
    ),
    "torch_npu_no_release": (
        "The table of {date} has no torch_npu for torch {torch} and "
        "Python {python}; this pair goes together.\n"
        "$ pip install {wanted}\n"
        "$ pip install torch_npu=={torch_npu}",
        "{date} 的配套表中没有适用于 torch {torch} 和 Python {python} 的 torch_npu；以下组合配套。\n"
        "$ pip install {wanted}\n"
        "$ pip install torch_npu=={torch_npu}",
    ),
    "pair": (
        "torch {torch} and torch_npu {torch_npu} go together",
        "torch {torch} 与 torch_npu {torch_npu} 配套",
    ),
    "pair_no_torch": (
        "torch_npu {torch_npu} without torch",
        "有 torch_npu {torch_npu}，但没有 torch",
    ),
    "pair_differs": (
        "torch_npu {torch_npu} is built for torch {wanted}, but torch {torch} is installed",
        "torch_npu {torch_npu} 对应 torch {wanted}，而安装的是 torch {torch}",
    ),
    "pair_fix_torch": (
        "Install the torch that it was built for.\n$ pip install {wanted}",
        "安装与其对应的 torch。\n$ pip install {wanted}",
    ),
    "pair_fix_either": (
        "Install the torch_npu for this torch, or the torch for this torch_npu: one of the two.\n"
        "$ pip install torch_npu=={torch_npu}\n"
        "$ pip install {wanted}",
        "安装该 torch 对应的 torch_npu，或该 torch_npu 对应的 torch，二选一。\n"
        "$ pip install torch_npu=={torch_npu}\n"
        "$ pip install {wanted}",
    ),
    "numpy": ("numpy {numpy}", "numpy {numpy}"),
    "numpy_missing": (
        "numpy is not installed; Tensor.numpy() and torch.from_numpy() will fail",
        "未安装 numpy；Tensor.numpy() 和 torch.from_numpy() 将无法使用",
    ),
    "numpy_missing_fix": ("Install it.\n$ pip install 'numpy<2'", "请安装。\n$ pip install 'numpy<2'"),
    "numpy_torch": (
        "numpy {numpy}, but torch {torch} was built for numpy 1; torch 2.3 is the first that takes numpy 2",
        "numpy {numpy}，而 torch {torch} 基于 numpy 1 编译；torch 2.3 起才支持 numpy 2",
    ),
    "numpy_cann": (
        "numpy {numpy} with CANN {cann}: CANN up to 8.2 needs numpy "
        "1, and set_device fails with error 500001",
        "numpy {numpy} 搭配 CANN {cann}：8.2 及以前的 CANN 需要 numpy 1，否则 set_device 报错 500001",
    ),
    "numpy_cann_unknown": (
        "numpy {numpy} with CANN {cann}: whether this CANN takes numpy 2 isn't documented",
        "numpy {numpy} 搭配 CANN {cann}：该 CANN 是否支持 numpy 2 没有文档说明",
    ),
    "numpy_fix": ("Install numpy 1.\n$ pip install 'numpy<2'", "安装 numpy 1。\n$ pip install 'numpy<2'"),
    "numpy_watch": (
        "If set_device fails with error 500001, install numpy 1.\n$ pip install 'numpy<2'",
        "若 set_device 报错 500001，请安装 numpy 1。\n$ pip install 'numpy<2'",
    ),
    # CANN and its variables.
    "cann": ("CANN {cann} in {home}", "CANN {cann}，位于 {home}"),
    "cann_fits": (
        "CANN {cann} in {home}, which torch_npu {torch_npu} was released with",
        "CANN {cann}，位于 {home}，与 torch_npu {torch_npu} 配套",
    ),
    "cann_missing": (
        "CANN was found neither by ASCEND_HOME_PATH nor below /usr/local/Ascend and $HOME/Ascend",
        "在 ASCEND_HOME_PATH、/usr/local/Ascend 和 $HOME/Ascend 下均未找到 CANN",
    ),
    "cann_install": (
        "Install the toolkit and the kernels (ops) package of CANN {cann}, then source its set_env.sh.",
        "安装 CANN {cann} 的 toolkit 和 kernels（ops）包，然后 source 其 set_env.sh。",
    ),
    "cann_no_version": (
        "CANN in {home}, but its version files are missing or unreadable",
        "CANN 位于 {home}，但其版本文件缺失或不可读",
    ),
    "cann_no_version_fix": (
        "Check that {home} can be read; install CANN again if files are missing.",
        "检查 {home} 是否可读；若文件缺失请重新安装 CANN。",
    ),
    "cann_older": (
        "CANN {cann} in {home} is older than {wanted}, which torch_npu {torch_npu} needs",
        "CANN {cann}（{home}）低于 torch_npu {torch_npu} 所需的 {wanted}",
    ),
    "cann_newer": (
        "CANN {cann} in {home}; torch_npu {torch_npu} was released with {wanted}",
        "CANN {cann}，位于 {home}；torch_npu {torch_npu} 配套的是 {wanted}",
    ),
    "cann_fix": (
        "Install CANN {wanted}, or the torch_npu for this CANN.\n$ pip install torch_npu=={torch_npu}",
        "安装 CANN {wanted}，或安装与该 CANN 配套的 torch_npu。\n$ pip install torch_npu=={torch_npu}",
    ),
    "cann_fix_only": ("Install CANN {wanted}.", "安装 CANN {wanted}。"),
    "cann_unlisted": (
        "CANN {cann} in {home}; torch_npu {torch_npu} is not in the table of {date}",
        "CANN {cann}，位于 {home}；{date} 的配套表中没有 torch_npu {torch_npu}",
    ),
    "cann_unlisted_older": (
        "CANN {cann} in {home}; torch_npu {torch_npu} is not in the table of {date}, but already the older "
        "{older} needs CANN {wanted}",
        "CANN {cann}，位于 {home}；{date} 的配套表中没有 torch_npu {torch_npu}，"
        "但较旧的 {older} 已需要 CANN {wanted}",
    ),
    "kernels": ("the kernels (ops) package is installed", "已安装 kernels（ops）包"),
    "kernels_missing": (
        'no kernels (ops) package was found in {home}; operators may fail with "Cannot find bin of op"',
        "{home} 中未找到 kernels（ops）包；算子可能报错 “Cannot find bin of op”",
    ),
    "kernels_fix": (
        "Install the kernels (ops) package of this CANN for your chip.",
        "安装与该 CANN 和芯片配套的 kernels（ops）包。",
    ),
    "variables": ("set_env.sh of {home} is in effect", "{home} 的 set_env.sh 已生效"),
    "home_unset": (
        "ASCEND_HOME_PATH is not set: set_env.sh of CANN was not sourced in this shell",
        "未设置 ASCEND_HOME_PATH：当前 shell 未 source CANN 的 set_env.sh",
    ),
    "home_gone": (
        "ASCEND_HOME_PATH is {home}, where there is no CANN; importing torch_npu fails with that",
        "ASCEND_HOME_PATH 为 {home}，该处没有 CANN；导入 torch_npu 会失败",
    ),
    "opp_unset": (
        "ASCEND_OPP_PATH is not set; importing torch_npu fails without it",
        "未设置 ASCEND_OPP_PATH；导入 torch_npu 会失败",
    ),
    "opp_gone": (
        "ASCEND_OPP_PATH is {opp}, which doesn't exist; importing torch_npu fails with that",
        "ASCEND_OPP_PATH 为 {opp}，该目录不存在；导入 torch_npu 会失败",
    ),
    "libraries_missing": (
        "LD_LIBRARY_PATH leads to no {libraries}: set_env.sh of CANN was not sourced, or not completely",
        "LD_LIBRARY_PATH 中找不到 {libraries}：未（完整）source CANN 的 set_env.sh",
    ),
    "source_fix": (
        "Source it in this shell, and in ~/.bashrc for later ones.\n$ source {set_env}",
        "在当前 shell 中 source，并写入 ~/.bashrc。\n$ source {set_env}",
    ),
    # Driver and cards.
    "driver": ("driver {driver}", "驱动 {driver}"),
    "driver_smi": ("driver {driver}; npu-smi answers", "驱动 {driver}；npu-smi 正常"),
    "driver_unknown": ("a driver of unknown version; npu-smi answers", "驱动版本未知；npu-smi 正常"),
    "driver_missing": (
        "there is neither npu-smi nor /usr/local/Ascend/driver/version.info",
        "没有 npu-smi，也没有 /usr/local/Ascend/driver/version.info",
    ),
    "driver_fix": (
        "Install driver and firmware for the card. In a container, mount /usr/local/Ascend/driver, "
        "/usr/local/bin/npu-smi, /usr/local/dcmi and /etc/ascend_install.info from the host.",
        "安装与卡配套的驱动和固件。容器中请从宿主机挂载 /usr/local/Ascend/driver、/usr/local/bin/npu-smi、"
        "/usr/local/dcmi 和 /etc/ascend_install.info。",
    ),
    "driver_no_smi": (
        "driver {driver}, but there is no npu-smi to ask for the cards",
        "驱动 {driver}，但没有 npu-smi，无法查询设备",
    ),
    "smi_failed": (
        "npu-smi info fails (exit code {code}): {said}",
        "npu-smi info 失败（退出码 {code}）：{said}",
    ),
    "smi_hangs": ("npu-smi info gives no answer", "npu-smi info 没有响应"),
    "smi_fix": (
        "See whether it works as root on the host. A card can be in one container only, with /dev/davinciN, "
        "/dev/davinci_manager, /dev/devmm_svm and /dev/hisi_hdc. If it fails on the host, too, restart the "
        "server or install the driver again.",
        "先在宿主机上以 root 运行确认。一张卡只能分配给一个容器，并需映射 "
        "/dev/davinciN、/dev/davinci_manager、"
        "/dev/devmm_svm、/dev/hisi_hdc。若宿主机上也失败，请重启服务器或重装驱动。",
    ),
    "devices": ("{count} NPUs: {first} to {last}", "{count} 个 NPU：{first} 至 {last}"),
    "device": ("1 NPU: {first}", "1 个 NPU：{first}"),
    "devices_missing": (
        "there is no /dev/davinci0, /dev/davinci1, ...",
        "没有 /dev/davinci0、/dev/davinci1 等设备文件",
    ),
    "devices_fix": (
        "On the host, install the driver and check npu-smi info. For a container, pass the cards in.\n"
        "$ docker run --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm "
        "--device /dev/hisi_hdc ...",
        "在宿主机上安装驱动并查看 npu-smi info。容器需映射设备。\n"
        "$ docker run --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm "
        "--device /dev/hisi_hdc ...",
    ),
    "managers_missing": (
        "the cards are here, but not {missing}, which every program needs",
        "有设备，但缺少所有程序都需要的 {missing}",
    ),
    "devices_closed": (
        "this user may not open {path}; it belongs to the group {group}",
        "当前用户无权访问 {path}；其属组为 {group}",
    ),
    "group_fix": (
        "Add the user to that group (HwHiAiUser unless the driver was "
        "installed for another), and log in anew.\n"
        "$ sudo usermod -a -G {group} $USER",
        "将用户加入该组（驱动默认安装为 HwHiAiUser），然后重新登录。\n$ sudo usermod -a -G {group} $USER",
    ),
    "group_number_fix": (
        "The group has no name here, as in many containers; pass it.\n$ docker run --group-add {group} ...",
        "此处该组没有名称（容器中常见）：启动时传入。\n$ docker run --group-add {group} ...",
    ),
    "group_root_fix": (
        "Install the driver again for the group of its users (--install-usergroup=GROUP, or "
        "--install-for-all), or run as root.",
        "重新安装驱动并指定用户组（--install-usergroup=GROUP 或 --install-for-all），或以 root 运行。",
    ),
    # Environment variables.
    "visible": ("ASCEND_RT_VISIBLE_DEVICES={value}", "ASCEND_RT_VISIBLE_DEVICES={value}"),
    "visible_empty": (
        "ASCEND_RT_VISIBLE_DEVICES is set, but empty",
        "ASCEND_RT_VISIBLE_DEVICES 已设置但为空",
    ),
    "visible_other": (
        "ASCEND_RT_VISIBLE_DEVICES={value}: it takes numbers and commas only, and what follows another "
        "character (a space, too) is ignored",
        "ASCEND_RT_VISIBLE_DEVICES={value}：只能包含数字和英文逗号，其他字符（包括空格）之后的内容会被忽略",
    ),
    "visible_unordered": (
        "ASCEND_RT_VISIBLE_DEVICES={value}: CANN takes ascending numbers only; otherwise "
        "torch.npu.is_available() is False though cards are there",
        "ASCEND_RT_VISIBLE_DEVICES={value}：CANN 只支持升序，否则即使有卡 "
        "torch.npu.is_available() 也为 False",
    ),
    "visible_repeated": (
        "ASCEND_RT_VISIBLE_DEVICES={value}: a number stands there twice, but they must ascend",
        "ASCEND_RT_VISIBLE_DEVICES={value}：编号重复，而编号必须严格升序",
    ),
    "visible_beyond": (
        "ASCEND_RT_VISIBLE_DEVICES={value}, but there are {count} NPUs, numbered from 0; CANN ignores an "
        "invalid number and all after it",
        "ASCEND_RT_VISIBLE_DEVICES={value}，但只有 {count} "
        "个 NPU（从 0 编号）；CANN 会忽略无效编号及其后的内容",
    ),
    "visible_fix": (
        "Name the cards once each, in ascending order.\n$ export ASCEND_RT_VISIBLE_DEVICES={wanted}",
        "每张卡写一次，并按升序排列。\n$ export ASCEND_RT_VISIBLE_DEVICES={wanted}",
    ),
    "unset_fix": ("Unset it to see all cards.\n$ unset {name}", "取消该变量即可使用所有卡。\n$ unset {name}"),
    "cuda_variables": (
        "set, but ignored by the NPU: {names}",
        "已设置，但 NPU 会忽略：{names}",
    ),
    "cuda_variables_fix": (
        "Set what the NPU reads instead (NPU6 rules of `cuda2npu rule` say how values differ).\n{commands}",
        "改为设置 NPU 读取的变量（取值差异见 `cuda2npu rule` 的 NPU6 规则）。\n{commands}",
    ),
    "cuda_variables_none": ("no CUDA variables that the NPU would ignore", "没有会被 NPU 忽略的 CUDA 变量"),
    "autoload_off": (
        "TORCH_DEVICE_BACKEND_AUTOLOAD=0: import torch doesn't load torch_npu",
        "TORCH_DEVICE_BACKEND_AUTOLOAD=0：import torch 不会加载 torch_npu",
    ),
    "autoload_fix": (
        "Fine if the program imports torch_npu itself, as converted ones do. Else unset it.\n"
        "$ unset TORCH_DEVICE_BACKEND_AUTOLOAD",
        "若程序自行 import torch_npu（转换后的程序即如此）则无妨，否则请取消。\n"
        "$ unset TORCH_DEVICE_BACKEND_AUTOLOAD",
    ),
    "hccl_event": (
        "HCCL_EVENT_TIMEOUT={event} is not above HCCL_EXEC_TIMEOUT={exec}, "
        "so that the wrong one strikes first",
        "HCCL_EVENT_TIMEOUT={event} 不大于 HCCL_EXEC_TIMEOUT={exec}，会先触发错误的超时",
    ),
    "hccl_event_fix": (
        "Make it the longer of the two (seconds).\n$ export HCCL_EVENT_TIMEOUT={wanted}",
        "使其大于后者（单位：秒）。\n$ export HCCL_EVENT_TIMEOUT={wanted}",
    ),
    # What the import does.
    "import_ok": (
        "torch {torch} and torch_npu {torch_npu} import; {count} devices",
        "torch {torch} 和 torch_npu {torch_npu} 导入正常；{count} 个设备",
    ),
    "import_torch_ok": ("torch {torch} imports", "torch {torch} 导入正常"),
    "import_torch": (
        "import torch fails even without torch_npu: {reason}",
        "即使不加载 torch_npu，import torch 也失败：{reason}",
    ),
    "import_torch_fix": (
        "Install torch again; a folder or file called torch on PYTHONPATH does this, too.\n"
        "$ pip install --force-reinstall {torch}",
        "重新安装 torch；PYTHONPATH 中名为 torch 的目录或文件也会导致此问题。\n"
        "$ pip install --force-reinstall {torch}",
    ),
    "import_autoload": (
        'import torch fails with "Failed to load the backend extension: torch_npu", since torch loads '
        "torch_npu by itself. Cause: {reason}",
        "import torch 报错 “Failed to load the backend extension: "
        "torch_npu”，因为 torch 会自动加载 torch_npu。"
        "原因：{reason}",
    ),
    "import_torch_npu": ("import torch_npu fails: {reason}", "import torch_npu 失败：{reason}"),
    "import_devices": (
        "torch_npu imports, but its devices can't be counted: {reason}",
        "torch_npu 可导入，但无法获取设备数量：{reason}",
    ),
    "import_late": (
        "importing {what} took longer than the doctor waits, or hangs",
        "导入 {what} 超时或挂起",
    ),
    "import_late_fix": (
        "Try it by hand; if it hangs, npu-smi info and the driver are the first to look at.\n"
        "$ TORCH_DEVICE_BACKEND_AUTOLOAD=0 python -X faulthandler -c 'import torch, torch_npu'",
        "请手动尝试；若挂起，先检查 npu-smi info 和驱动。\n"
        "$ TORCH_DEVICE_BACKEND_AUTOLOAD=0 python -X faulthandler -c 'import torch, torch_npu'",
    ),
    "import_crash": (
        "importing {what} ends Python (exit code {code}): {reason}",
        "导入 {what} 时 Python 崩溃（退出码 {code}）：{reason}",
    ),
    "import_module_fix": (
        "A package that torch_npu or CANN needs is missing.\n$ pip install {module}",
        "缺少 torch_npu 或 CANN 依赖的包。\n$ pip install {module}",
    ),
    "import_glibc_fix": (
        "The wheel was built for a newer system: use a newer one, or a container image with torch_npu in it.",
        "该 wheel 面向更新的系统：请升级系统，或使用带 torch_npu 的容器镜像。",
    ),
    "import_other_fix": (
        "Read the exception; first mend the other faults in this list, then try again.\n"
        "$ TORCH_DEVICE_BACKEND_AUTOLOAD=0 python -c 'import torch, torch_npu'",
        "查看异常内容；先修复本列表中的其他故障，再重试。\n"
        "$ TORCH_DEVICE_BACKEND_AUTOLOAD=0 python -c 'import torch, torch_npu'",
    ),
    "stopgap": (
        "Until then, this lets torch be imported without the NPU:\n$ export TORCH_DEVICE_BACKEND_AUTOLOAD=0",
        "在此之前，可这样在没有 NPU 的情况下导入 torch：\n$ export TORCH_DEVICE_BACKEND_AUTOLOAD=0",
    ),
    "both": ("{first}\n{second}", "{first}\n{second}"),
    "no_devices": (
        "torch_npu imports, but counts 0 devices, though there are {count} in /dev",
        "torch_npu 可导入，但设备数为 0，而 /dev 下有 {count} 个设备",
    ),
    "no_devices_fix": (
        "Check ASCEND_RT_VISIBLE_DEVICES, the permissions of /dev/davinci*, and npu-smi info.",
        "检查 ASCEND_RT_VISIBLE_DEVICES、/dev/davinci* 的权限和 npu-smi info。",
    ),
    # The compiler.
    "compiler": ("g++ at {path}", "g++ 位于 {path}"),
    "compiler_missing": (
        "g++ is not installed; only the simulator needs it",
        "未安装 g++；仅模拟器需要",
    ),
    "compiler_fix": (
        "If you want to use the simulator, install g++: g++ on Debian and Ubuntu, gcc-c++ on openEuler.\n"
        "$ sudo apt-get install g++",
        "如需使用模拟器，请安装 g++：Debian/Ubuntu 为 g++，openEuler 为 "
        "gcc-c++。\n$ sudo apt-get install g++",
    ),
    # The log.
    "log": ("{path}: {lines} lines, {codes} different codes", "{path}：{lines} 行，{codes} 种错误码"),
    "log_none": (
        "{path}: {lines} lines, and no code or message that the doctor knows",
        "{path}：{lines} 行，未发现已知的错误码或信息",
    ),
    "log_first": (
        "In order of appearance: the first is usually the cause, the others follow from it.",
        "按出现顺序排列：通常第一个是原因，其余由它引起。",
    ),
    "log_count": ("{count} times, first in line {line}", "{count} 次，首次在第 {line} 行"),
    "log_once": ("once, in line {line}", "1 次，在第 {line} 行"),
    "err": ("{module}: {meaning}", "{module}：{meaning}"),
    "cann_unknown_code": (
        "an error code of {module} that the doctor doesn't know",
        "{module} 的错误码，含义未知",
    ),
    "cann_inner_code": ("{module}: an internal error", "{module}：内部错误"),
    "acl_unknown_code": (
        "a number that the doctor doesn't know; its kind: {kind}",
        "含义未知的返回码；类别：{kind}",
    ),
    "unknown_code": ("an error code that the doctor doesn't know", "含义未知的错误码"),
    "unknown_fix": (
        "Read the lines around it; look for it in the CANN error code reference.",
        "查看其前后的日志，并在 CANN 错误码参考中查找。",
    ),
}
