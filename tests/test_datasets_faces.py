"""Synthetic faces are faces, and folders of landmarks become arrays."""

import numpy as np
import pytest

from mercer.datasets import (
    EMOTIONS,
    LANDMARKS,
    align_landmarks,
    emotion_coordinates,
    emotion_transfer,
    load_landmarks,
    make_faces,
)
from mercer.exceptions import DataError, MercerError


def part(faces, name):
    """Landmarks of a part, (..., points, 2)."""
    return faces.reshape(*faces.shape[:-1], 68, 2)[..., list(LANDMARKS[name]), :]


# -- synthetic faces --------------------------------------------------------------------------------------------


def test_shapes_seeds_and_names():
    data = make_faces(8, random_state=0)
    assert (data.X.shape, data.Y.shape) == ((8, 136), (8, 7, 136))
    assert data.names == tuple(EMOTIONS)
    np.testing.assert_array_equal(data.emotions, emotion_coordinates(data.names))
    np.testing.assert_array_equal(data.Y, make_faces(8, random_state=0).Y)
    assert not np.array_equal(data.Y, make_faces(8, random_state=1).Y)
    some = make_faces(3, ["sad", "neutral"], random_state=0)
    assert some.names == ("sad", "neutral")
    points = make_faces(3, [(0.5, -0.25)], random_state=0)
    assert points.names == ("(0.50, -0.25)",)
    assert make_faces(2, "happy").Y.shape == (2, 1, 136)


def test_parts_cover_the_landmarks_in_order():
    assert [index for part in LANDMARKS.values() for index in part] == list(range(68))


def test_neutral_is_the_origin_and_the_others_are_on_the_unit_circle():
    lengths = np.linalg.norm(emotion_coordinates(list(EMOTIONS)), axis=1)
    np.testing.assert_allclose(lengths, [0, 1, 1, 1, 1, 1, 1])
    data = make_faces(5, noise=0, random_state=0)
    np.testing.assert_allclose(data.Y[:, 0], data.X, atol=1e-12)
    assert np.all(np.abs(data.Y[:, 1:] - data.X[:, None]).max(axis=2) > 0.02)


def test_a_seed_gives_the_same_persons_for_all_emotions():
    seven, one = make_faces(5, noise=0, random_state=0), make_faces(5, ["sad"], noise=0, random_state=0)
    np.testing.assert_array_equal(seven.X, one.X)
    np.testing.assert_array_equal(seven.Y[:, -1], one.Y[:, 0])


def test_noise_is_as_large_as_told():
    quiet, noisy = (make_faces(100, noise=noise, random_state=0) for noise in (0.0, 0.01))
    for clean, observed in ((quiet.X, noisy.X), (quiet.Y, noisy.Y)):
        assert np.std(observed - clean) == pytest.approx(0.01, rel=0.05)
    assert np.abs(np.corrcoef((noisy.X - quiet.X).ravel(), (noisy.Y - quiet.Y)[:, 0].ravel())[0, 1]) < 0.05


@pytest.mark.parametrize("emotion", list(EMOTIONS))
def test_faces_have_their_parts_in_place(emotion):
    """Of 200 persons: brows above eyes above nose above lips above the chin, all inside the contour, symmetric."""
    faces = make_faces(200, [emotion], noise=0, random_state=3).Y[:, 0]
    contour, nose, lips = (part(faces, name) for name in ("contour", "nose_base", "outer_lips"))
    for side in ("left", "right"):
        brow, eye = part(faces, f"{side}_brow"), part(faces, f"{side}_eye")
        assert np.all(brow[..., 1].max(axis=1) < eye[..., 1].min(axis=1))
        assert np.all(eye[..., 1].max(axis=1) < nose[..., 1].min(axis=1))
    assert np.all(nose[..., 1].max(axis=1) < lips[..., 1].min(axis=1))
    assert np.all(lips[..., 1].max(axis=1) < contour[..., 1].max(axis=1))
    assert np.all(lips[..., 0].min(axis=1) > contour[:, 3, 0])
    inner = part(faces, "inner_lips")
    assert np.all(inner[:, 1:4, 1] <= inner[:, :4:-1, 1] + 1e-12)  # the upper lip is above the lower one
    assert np.all(lips[:, 1:6, 1] < lips[:, :6:-1, 1])
    assert np.all(inner[:, 2, 1] > lips[:, 3, 1])
    assert np.all(inner[:, 6, 1] < lips[:, 9, 1])
    assert faces.min() > 0
    assert faces.max() < 1.2
    left, right = part(faces, "left_eye"), part(faces, "right_eye")
    np.testing.assert_allclose(np.sort(1 - left[..., 0]), np.sort(right[..., 0]), atol=1e-12)
    np.testing.assert_allclose(contour[:, ::-1, 0], 1 - contour[..., 0], atol=1e-12)


def test_eyes_are_aligned_for_every_emotion():
    Y = make_faces(6, noise=0, random_state=0).Y
    np.testing.assert_allclose(align_landmarks(Y), Y, atol=1e-12)


def test_emotions_show_what_they_say():
    Y = make_faces(50, noise=0, random_state=0).Y.reshape(50, 7, 68, 2)
    names = list(EMOTIONS)

    def measure(of, to, axis=1):  # a distance of landmarks, positive downwards
        return {name: (Y[:, j, to, axis] - Y[:, j, of, axis]) for j, name in enumerate(names)}

    corners, opening = measure(54, 57), measure(62, 66)
    assert np.all(corners["happy"] > corners["neutral"])  # corners above the lower lip
    assert np.all(opening["surprised"] > opening["neutral"] + 0.03)
    eyes, inner_brow = measure(37, 41), measure(21, 39)
    for name in ("surprised", "fearful"):
        assert np.all(eyes[name] > eyes["neutral"])
    assert np.all(eyes["sad"] < eyes["neutral"])
    assert np.all(inner_brow["angry"] < inner_brow["neutral"])
    assert np.all(inner_brow["sad"] > inner_brow["neutral"])
    assert np.all(inner_brow["surprised"] > inner_brow["neutral"])


def test_faces_move_smoothly_with_emotions():
    """Third differences along a line through the plane are of the order of the step cubed."""
    sizes = []
    for steps in (20, 40):
        line = np.linspace([-0.8, -0.6], [0.9, 0.9], steps + 1)
        Y = make_faces(3, line, noise=0, random_state=0).Y
        sizes.append(np.abs(np.diff(Y, n=3, axis=1)).max())
    assert sizes[1] < sizes[0] / 6


def test_what_a_person_shows_is_known_from_the_neutral_face():
    """A linear map of neutral faces halves the error of the mean change, for persons that it has not seen."""
    data = make_faces(300, ["happy", "surprised"], noise=0, random_state=0)
    change = (data.Y - data.X[:, None]).reshape(300, -1)
    train, test = slice(200), slice(200, None)
    design = np.column_stack([np.ones(300), data.X])
    fitted = design[test] @ np.linalg.lstsq(design[train], change[train], rcond=1e-6)[0]
    error = np.mean((change[test] - fitted) ** 2)
    assert error < 0.25 * np.mean((change[test] - change[train].mean(axis=0)) ** 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_identities": 0}, "n_identities must be an integer >= 1"),
        ({"noise": -0.1}, "noise must be a finite number >= 0"),
        ({"emotions": ["bored"]}, r"names out of neutral, happy, .* got \['bored'\]"),
        ({"emotions": []}, "names out of"),
        ({"emotions": [(0.0, 1.0, 2.0)]}, r"emotions must be names of emotions, or finite numbers of shape"),
        ({"emotions": [(0.0, np.nan)]}, "finite numbers"),
        ({"emotions": [(0.0, "high")]}, "emotions must be"),
    ],
)
def test_faces_that_are_refused(arguments, message):
    with pytest.raises(MercerError, match=message):
        make_faces(**arguments)


# -- alignment --------------------------------------------------------------------------------------------------


def test_alignment_undoes_similarities():
    faces = make_faces(4, noise=0.01, random_state=0).Y
    aligned = align_landmarks(faces)
    rng = np.random.default_rng(0)
    angle, scale, shift = rng.uniform(-1, 1, (4, 7)), rng.uniform(0.5, 200, (4, 7)), rng.normal(size=(4, 7, 1, 2)) * 50
    turn = np.stack([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = np.einsum("abij,ijkb->ijka", turn, faces.reshape(4, 7, 68, 2)) * scale[..., None, None] + shift
    np.testing.assert_allclose(align_landmarks(moved).reshape(4, 7, 136), aligned, atol=1e-10)
    left, right = part(aligned, "left_eye").mean(axis=-2), part(aligned, "right_eye").mean(axis=-2)
    np.testing.assert_allclose(left, np.broadcast_to([0.35, 0.35], left.shape))
    np.testing.assert_allclose(right, np.broadcast_to([0.65, 0.35], right.shape))


def test_alignment_of_other_landmarks_and_of_missing_faces():
    faces = np.array([[[0.0, 0.0], [10.0, 0.0], [5.0, 5.0]], [[np.nan, np.nan]] * 3])
    aligned = align_landmarks(faces, eyes=([0], [1]))
    np.testing.assert_allclose(aligned[0], [[0.35, 0.35], [0.65, 0.35], [0.5, 0.5]])
    assert np.isnan(aligned[1]).all()
    with pytest.raises(DataError, match="48 landmarks at least"):
        align_landmarks(faces)
    with pytest.raises(DataError, match="both eyes at one place"):
        align_landmarks(np.zeros((68, 2)))
    with pytest.raises(DataError, match="x and y of each landmark"):
        align_landmarks(np.zeros(137))


# -- folders ----------------------------------------------------------------------------------------------------


@pytest.fixture
def face():
    return make_faces(1, random_state=0).Y[0].reshape(7, 68, 2)


def test_every_format_gives_the_same_numbers(tmp_path, face):
    face = np.round(100 * face[0], 3)
    np.save(tmp_path / "a_neutral.npy", face)
    np.save(tmp_path / "b_neutral.npy", face.ravel())
    np.savetxt(tmp_path / "c_neutral.txt", face, fmt="%.3f")
    np.savetxt(tmp_path / "d_neutral.csv", face, fmt="%.3f", delimiter=",", header="x,y", comments="")
    np.savetxt(tmp_path / "e_neutral.csv", face.reshape(1, -1), fmt="%.3f", delimiter=";")
    points = "\n".join(f"{x:.3f} {y:.3f}" for x, y in face)
    (tmp_path / "f_neutral.pts").write_text(f"version: 1\nn_points: 68\n{{\n{points}\n}}\n")
    np.savetxt(tmp_path / "g_neutral.TXT", face.ravel(), fmt="%.3f")
    (tmp_path / "README.md").write_text("not a face")
    data = load_landmarks(tmp_path)
    assert data.identities == tuple("abcdefg")
    assert data.names == ("neutral",)
    np.testing.assert_allclose(data.Y, np.broadcast_to(face.ravel(), (7, 1, 136)))


def test_pictures_that_are_missing_are_nan(tmp_path, face):
    for name, picture in (("anna_happy", 1), ("anna_neutral", 0), ("carl_x_sad", 6), ("carl_x_neutral", 0)):
        np.save(tmp_path / f"{name}.npy", face[picture])
    data = load_landmarks(str(tmp_path))
    assert data.identities == ("anna", "carl_x")
    assert data.names == ("neutral", "happy", "sad")
    np.testing.assert_array_equal(np.isnan(data.Y).all(axis=2), [[False, False, True], [False, True, False]])
    np.testing.assert_array_equal(data.Y[1, 2], face[6].ravel())
    chosen = load_landmarks(tmp_path, emotions=["angry", "happy"])
    assert chosen.names == ("angry", "happy")
    assert chosen.identities == ("anna",)
    np.testing.assert_array_equal(chosen.Y[0, 1], face[1].ravel())
    assert np.isnan(chosen.Y[0, 0]).all()


def test_alignment_on_request(tmp_path, face):
    np.save(tmp_path / "anna_happy.npy", 200 * face[1][:, ::-1] + 7)
    np.save(tmp_path / "bert_sad.npy", face[1])
    plain, aligned = load_landmarks(tmp_path), load_landmarks(tmp_path, align=True)
    np.testing.assert_allclose(aligned.Y, align_landmarks(plain.Y))
    assert not np.allclose(aligned.Y[0, 0], plain.Y[0, 0])


def test_names_of_databases(tmp_path, face):
    kdef = tmp_path / "kdef" / "AF01"
    kdef.mkdir(parents=True)
    for name in ("AF01NES", "AF01HAS", "AF01HAFL", "af01has_copy"):  # the third is not frontal
        np.save(kdef / f"{name}.npy", face[0])
    np.save(tmp_path / "kdef" / "bm35afs.npy", face[3])
    data = load_landmarks(tmp_path / "kdef", "kdef")
    assert (data.identities, data.names) == (("AF01", "bm35"), ("neutral", "fearful", "happy"))
    np.testing.assert_array_equal(data.Y[1, 1], face[3].ravel())
    rafd = tmp_path / "rafd"
    rafd.mkdir()
    for name in ("angry_frontal", "angry_left", "neutral_frontal"):
        np.save(rafd / f"Rafd090_07_Caucasian_male_{name}.npy", face[0])
    data = load_landmarks(rafd, "rafd")
    assert (data.identities, data.names) == (("07",), ("neutral", "angry"))


def test_patterns_and_codes_of_ones_own(tmp_path, face):
    for name in ("n-12", "h-12", "h-3"):
        np.save(tmp_path / f"{name}.npy", face[0])
    pattern = r"(?P<emotion>[a-z])-(?P<identity>\d+)"
    data = load_landmarks(tmp_path, pattern, emotions={"h": "happy", "n": "neutral"})
    assert (data.identities, data.names) == (("12", "3"), ("happy", "neutral"))
    assert np.isnan(data.Y[1, 1]).all()
    assert load_landmarks(tmp_path, pattern).names == ("h", "n")


def test_other_numbers_of_landmarks(tmp_path):
    np.save(tmp_path / "anna_happy.npy", np.arange(10.0).reshape(5, 2))
    np.testing.assert_array_equal(load_landmarks(tmp_path, n_landmarks=5).Y, np.arange(10.0).reshape(1, 1, 10))
    with pytest.raises(DataError, match=r"anna_happy.npy must have 68 landmarks, 136 numbers; got 10 numbers"):
        load_landmarks(tmp_path)
    with pytest.raises(MercerError, match=r"align must be False unless there are 68 landmarks.*align_landmarks"):
        load_landmarks(tmp_path, n_landmarks=5, align=True)
    with pytest.raises(MercerError, match="n_landmarks must be an integer"):
        load_landmarks(tmp_path, n_landmarks=0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n3 four\n", "cannot be read as numbers; could not convert string to float: 'four'"),
        ("1 2 3\n" * 68, r"two columns, x and y; got shape \(68, 3\)"),
        ("1 2\n3\n", "different numbers of columns"),
        ("1 nan\n" * 68, "not finite"),
        ("", "got 0 numbers"),
    ],
)
def test_files_that_are_refused(tmp_path, text, message):
    (tmp_path / "anna_happy.txt").write_text(text)
    with pytest.raises(DataError, match=f"anna_happy.txt .*{message}"):
        load_landmarks(tmp_path)


def test_pickles_are_not_read(tmp_path):
    np.save(tmp_path / "anna_happy.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read"):
        load_landmarks(tmp_path)


def test_folders_and_patterns_that_are_refused(tmp_path, face):
    with pytest.raises(DataError, match="is not a folder"):
        load_landmarks(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"the files are 0, none ends with \.csv, "):
        load_landmarks(tmp_path)
    np.save(tmp_path / "anna_happy.npy", face[0])
    with pytest.raises(DataError, match=r"the pattern .* the files are 1, such as anna_happy.npy"):
        load_landmarks(tmp_path, "kdef")
    with pytest.raises(DataError, match="Emotions that occur are happy"):
        load_landmarks(tmp_path, emotions=["joyful"])
    np.savetxt(tmp_path / "anna_happy.csv", face[0])
    with pytest.raises(DataError, match=r"anna_happy.csv and anna_happy.npy are both anna, happy"):
        load_landmarks(tmp_path)
    for pattern, hint in (("(?P<identity>", "does not compile"), (r"(\w+)_(\w+)", r"written \(\?P<identity>"), (3, "")):
        with pytest.raises(MercerError, match=f"pattern must be one of 'plain', 'kdef', 'rafd'.*{hint}"):
            load_landmarks(tmp_path, pattern)
    with pytest.raises(MercerError, match="emotions must be"):
        load_landmarks(tmp_path, emotions="happy")


# -- emotion transfer -------------------------------------------------------------------------------------------


def test_every_face_of_a_person_is_an_input_for_all_of_them():
    faces = make_faces(4, random_state=0)
    missing = faces.Y.copy()
    missing[1, 2] = np.nan
    missing[2, 0, 5] = np.nan  # of this face one number
    X, Y, persons = emotion_transfer(missing, names=faces.names)
    assert X.shape == (4 * 7 - 2, 136)
    assert persons.tolist() == [0] * 7 + [1] * 6 + [2] * 6 + [3] * 7
    for x, y, person in zip(X, Y, persons, strict=True):
        np.testing.assert_array_equal(y, missing[person])
        assert (x == missing[person]).all(axis=1).sum() == 1
    assert not np.isnan(X).any()


def test_one_emotion_is_the_input():
    faces = make_faces(4, random_state=0)
    X, Y, persons = emotion_transfer(faces, "sad")
    np.testing.assert_array_equal(X, faces.Y[:, faces.names.index("sad")])
    np.testing.assert_array_equal(Y, faces.Y)
    assert persons.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("faces", "settings", "words"),
    [
        (np.zeros((3, 4)), {}, "must have shape"),
        (np.zeros((3, 2, 4)), {"source": "sad"}, "Pass names="),
        (np.zeros((3, 2, 4)), {"names": ["sad"]}, "1 names for 2 emotions"),
        (np.zeros((3, 2, 4)), {"names": ["sad", "happy"], "source": "angry"}, "'joint' or 'sad' or 'happy'"),
        (np.full((3, 2, 4), np.nan), {}, "no face"),
    ],
)
def test_transfer_is_refused(faces, settings, words):
    with pytest.raises(MercerError, match=words):
        emotion_transfer(faces, **settings)
