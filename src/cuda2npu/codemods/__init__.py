"""How code is rewritten: LibCST visitors, one per kind of rewrite, named by the rules."""

from __future__ import annotations

from cuda2npu.codemods.attention_name import AttentionName
from cuda2npu.codemods.attribute_name import AttributeName
from cuda2npu.codemods.autograd_profiler import AutogradProfiler
from cuda2npu.codemods.base import Codemod
from cuda2npu.codemods.calls import Calls
from cuda2npu.codemods.channels_last import ChannelsLast
from cuda2npu.codemods.code_text import CodeText
from cuda2npu.codemods.default_device import DefaultDevice
from cuda2npu.codemods.default_tensor_type import DefaultTensorType
from cuda2npu.codemods.device_number import DeviceNumber
from cuda2npu.codemods.device_option import DeviceOption
from cuda2npu.codemods.device_string import DeviceString
from cuda2npu.codemods.device_text import DeviceText
from cuda2npu.codemods.dtype import Dtype
from cuda2npu.codemods.environment import Environment
from cuda2npu.codemods.extension_load import ExtensionLoad
from cuda2npu.codemods.fused_optimizer import FusedOptimizer
from cuda2npu.codemods.imports import Imports
from cuda2npu.codemods.is_cuda import IsCuda
from cuda2npu.codemods.keyword import Keyword
from cuda2npu.codemods.legacy_constructor import LegacyConstructor
from cuda2npu.codemods.mask_assignment import MaskAssignment
from cuda2npu.codemods.member_name import MemberName
from cuda2npu.codemods.method import Method
from cuda2npu.codemods.native_library import NativeLibrary
from cuda2npu.codemods.out_of_memory_text import OutOfMemoryText
from cuda2npu.codemods.own_members import OwnDefinition
from cuda2npu.codemods.package_import import PackageImport, ProviderName
from cuda2npu.codemods.performance import PERFORMANCE
from cuda2npu.codemods.reductions import Reductions
from cuda2npu.codemods.resize import Resize, ResizeDtype
from cuda2npu.codemods.result_member import ResultMember
from cuda2npu.codemods.source_text import SourceText
from cuda2npu.codemods.start_method import StartMethod
from cuda2npu.codemods.symbol import Symbol
from cuda2npu.codemods.triton_kernel import TritonKernel

# The order matters where one codemod builds on another: imports plan what names are called afterwards,
# literals are claimed before DeviceString looks at what is left, and options follow their defaults.
CODEMODS: tuple[type[Codemod], ...] = (
    Imports,
    DefaultTensorType,
    LegacyConstructor,
    ResultMember,
    Symbol,
    OwnDefinition,
    Method,
    IsCuda,
    DefaultDevice,
    DeviceNumber,
    AttributeName,
    Calls,
    Reductions,
    FusedOptimizer,
    Resize,
    ResizeDtype,
    Dtype,
    MaskAssignment,
    ChannelsLast,
    AutogradProfiler,
    StartMethod,
    PackageImport,
    ProviderName,
    AttentionName,
    Keyword,
    TritonKernel,
    ExtensionLoad,
    NativeLibrary,
    SourceText,
    Environment,
    MemberName,
    OutOfMemoryText,
    CodeText,
    DeviceText,
    DeviceString,
    DeviceOption,
    *PERFORMANCE,
)
