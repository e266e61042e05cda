"""
Durations in options, as kubectl reads them.
"""

import click


class Seconds(click.ParamType[float]):
    """
    A duration such as ``30s`` or ``2m``, or a number of seconds.

    Source:
        client-go, ``tools/clientcmd/helpers.go``, ``ParseTimeout``.
    """

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """
        Return the number of seconds.
        """
        from espalier.golang.durations import DurationError, parse_duration

        text = str(value)
        if text.isascii() and text.isdecimal():
            return float(text)
        try:
            seconds = parse_duration(text) / 1e9
        except DurationError:
            seconds = -1.0
        if seconds < 0:
            self.fail(f"{text!r} is no duration: write 30s, 2m or 1h", param, ctx)
        return seconds
