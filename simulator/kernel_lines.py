"""What the driver writes to the kernel log for an Xid, and what an Xid does to the card that reports it.

Sources: NVIDIA/open-gpu-kernel-modules (rc/kernel_rc.c, gpu.c) for the lines and for the order of recovery actions;
NVIDIA's Xid catalogue of 2025-09-30 for what each code asks for; NVIDIA/k8s-device-plugin, internal/rm/health.go, for
the codes that its health check leaves alone.
"""

from __future__ import annotations

# Xids after which the device plugin keeps a GPU healthy; any other marks it unhealthy until the plugin restarts.
IGNORED_BY_PLUGIN = frozenset({13, 31, 43, 45, 68, 109})

# Recovery actions as `nvidia-smi -q` words them, the gravest first, with the driver's number and its words in Xid 154.
RECOVERY_ACTIONS: dict[str, tuple[int, str]] = {
    "Reboot": (2, "Node Reboot Required"),
    "Reset": (1, "GPU Reset Required"),
    "Drain and Reset": (4, "Drain and Reset"),
    "Drain P2P": (3, "Drain P2P"),
    "None": (0, "None"),
}

# The action that the driver asks for after a code; "None" after any other.
ACTION_AFTER: dict[int, str] = {
    **dict.fromkeys((46, 48, 62, 74, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158), "Reset"),
    **dict.fromkeys((63, 160), "Drain and Reset"),
    **dict.fromkeys((79, 151), "Reboot"),
}
# Codes that no program notices.
SPARES_PROGRAMS = frozenset({63, 92, 154, 160})
REMAPS_A_ROW = 63  # pending until the next reset
REMAP_FAILED = 64  # no spare row is left
LASTING = frozenset({54, REMAP_FAILED})
"""Neither reset nor boot helps: the board lacks power, or no spare row is left."""
FALLEN_OFF = 79
ACTION_CHANGED = 154

# The error message that dcgm-exporter puts beside the code, and the kernel's words.
XID_TEXTS: dict[int, tuple[str, str]] = {
    13: ("Graphics Engine Exception", "Graphics SM Warp Exception on (GPC 9, TPC 1, SM 1): Out Of Range Address"),
    31: (
        "GPU memory page fault",
        (
            "Ch 00000007, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_6 faulted @ 0x7f5a_e7504000. "
            "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
        ),
    ),
    43: ("GPU stopped processing", "Ch 00000018"),
    45: ("Preemptive cleanup, due to previous errors", "Ch 0000000b"),
    48: (
        "Double Bit ECC Error",
        (
            "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 4, "
            "subpartition 1"
        ),
    ),
    54: ("Auxiliary power is not connected to the GPU board", "Auxiliary power is not connected to the GPU board."),
    63: (
        "ECC page retirement or row remapping recording event",
        "Row Remapper: New row (0x00000002eebc4100) marked for remapping, reset gpu to activate.",
    ),
    64: (
        "ECC page retirement or row remapper recording failure",
        "Row Remapper Error: (0x00000002eebc4100) - All reserved rows for bank are remapped",
    ),
    74: ("NVLINK Error", "NVLink: fatal error detected on link 2(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"),
    79: ("GPU has fallen off the bus", "GPU has fallen off the bus."),
    94: ("Contained ECC error", "Contained: SM (0x1). RST: No, D-RST: No"),
    95: ("Uncontained ECC error", "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No"),
    119: (
        "GSP RPC timeout",
        "Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL).",
    ),
    154: ("GPU recovery action changed", ""),
}


def error_message(xid: int) -> str:
    """The exporter's `err_msg`."""
    return XID_TEXTS.get(xid, ("Unknown Error", ""))[0]


def xid_text(xid: int, *, action: str = "None", cause: int = 0) -> str:
    """What follows the number in the line. `action` is the new recovery action (for 154), `cause` an earlier Xid."""
    if xid == ACTION_CHANGED:
        number, words = RECOVERY_ACTIONS[action]
        return f"GPU recovery action changed from 0x0 (None) to 0x{number} ({words})"
    text = XID_TEXTS.get(xid, ("", "00000000 00000000"))[1]
    return f"{text} caused by previous Xid {cause}" if cause else text


def graver(one: str, other: str) -> str:
    """The recovery action that the driver shows when two are due."""
    return min(one, other, key=list(RECOVERY_ACTIONS).index)
