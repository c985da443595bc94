"""The memory budget: a share of the machine's, settable, and what is beyond it is refused."""

import threading

import pytest

from mercer.exceptions import UnsupportedError
from mercer.linalg import memory, memory_budget, memory_limit


def test_by_default_it_is_half_of_the_smaller_of_machine_and_container(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_machine_memory", memory._machine_memory.__wrapped__)  # asked at each time
    limit = tmp_path / "memory.max"
    limit.write_text("1000\n")
    monkeypatch.setattr(memory, "CONTAINER_LIMIT", limit)
    assert memory_budget() == 500
    limit.write_text("max\n")
    monkeypatch.setattr(memory, "_physical_memory", lambda: 3000)
    assert memory_budget() == 1500
    monkeypatch.setattr(memory, "_physical_memory", lambda: None)
    assert memory_budget() == memory.UNKNOWN // 2


def test_it_is_set_for_a_block_of_one_thread():
    seen = []
    before = memory_budget()
    with memory_limit(100):
        assert memory_budget() == 100
        with memory_limit(50):
            assert memory_budget() == 50
        other = threading.Thread(target=lambda: seen.append(memory_budget()))
        other.start()
        other.join()
        assert memory_budget() == 100
    assert memory_budget() == before == seen[0]
    with pytest.raises(ValueError, match="number of bytes"), memory_limit(0):
        pass


def test_what_is_too_large_is_refused_with_figures():
    with memory_limit(2**30):
        error = memory.beyond_budget(2**31, "This", "Do that.")
    assert isinstance(error, UnsupportedError)
    assert str(error).startswith("This would need 2.0 GiB, more than the memory budget of 1.0 GiB. Do that.")
