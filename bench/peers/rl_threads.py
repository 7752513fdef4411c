"""How many threads PyTorch is given where nets are small: threads that wait for each other may cost more than they do."""

import torch


def fastest_threads(frames_a_second):
    """Takes the fastest number of threads from here on, and says what each gave."""
    rates = {}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        rates[threads] = frames_a_second()
    best = max(rates, key=rates.get)
    torch.set_num_threads(best)
    tried = ", ".join(f"{rate:,.0f} frames/s in {threads}" for threads, rate in rates.items())
    return f"{best} thread{'s' if best > 1 else ''} (tried: {tried})"
