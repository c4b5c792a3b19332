"""Clocks, power and temperature while the steps run: a row of nvidia-smi twice a second, by this process's clock."""

import datetime
import statistics
import subprocess
import threading

FIELDS = ["timestamp", "clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_event_reasons.active"]
NAMES = ["sm_mhz", "memory_mhz", "power_w", "temperature_c", "reasons"]
PERIOD_MS = 500


def number(text):
    """None for [N/A]; reasons are hexadecimal bits."""
    text = text.strip()
    try:
        return int(text, 16) if text.startswith("0x") else float(text)
    except ValueError:
        return None


def seconds(text):
    """Its own time stamp: what it says may wait in a buffer."""
    return datetime.datetime.strptime(text.strip(), "%Y/%m/%d %H:%M:%S.%f").timestamp()


class Clocks:
    def __init__(self):
        self.samples, self.reason = [], None
        query = ["nvidia-smi", "--query-gpu=" + ",".join(FIELDS), "--format=csv,noheader,nounits", "--id=0", f"--loop-ms={PERIOD_MS}"]
        try:
            self.child = subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError as error:
            self.child, self.reason = None, f"nvidia-smi cannot be started: {error.strerror}"
            return
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            at, *values = line.split(",")
            if len(values) == len(NAMES):
                self.samples.append((seconds(at), dict(zip(NAMES, map(number, values)))))

    def end(self):
        if self.child:
            self.child.terminate()
            self.child.wait()
        if not self.samples and not self.reason:
            self.reason = "nvidia-smi gave no sample"

    def between(self, begin, end):
        """Median clock, largest power and temperature, all reasons; None when no sample fell into that time."""
        inside = [values for at, values in list(self.samples) if begin <= at <= end]
        if not inside:
            return None
        known = {name: [v[name] for v in inside if v[name] is not None] for name in NAMES}
        reasons = 0
        for bits in known["reasons"]:
            reasons |= int(bits)
        return {"samples": len(inside), "sm_mhz": statistics.median(known["sm_mhz"]) if known["sm_mhz"] else None,
                "sm_mhz_min": min(known["sm_mhz"], default=None), "memory_mhz": max(known["memory_mhz"], default=None),
                "power_w": max(known["power_w"], default=None), "temperature_c": max(known["temperature_c"], default=None),
                "reasons": f"{reasons:#x}" if known["reasons"] else None}
