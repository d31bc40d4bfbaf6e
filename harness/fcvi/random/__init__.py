"""Random words of calls, IUs, losses, timers and link events, judged by what holds for every conforming device."""
