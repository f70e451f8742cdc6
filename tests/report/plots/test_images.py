import numpy as np
import pytest

from sklar.report.plots import plot_image_masks


def test_selected_pixels_are_coloured_and_outlined():
    images = np.random.default_rng(0).random((2, 9))
    masks = np.zeros((2, 9), dtype=bool)
    masks[0, 4] = True
    ax = plot_image_masks(images, masks, ["a", "b"])
    canvas = np.asarray(ax.images[0].get_array())
    coloured = np.ptp(canvas, axis=-1) > 0.1  # greys have no colour
    assert coloured.sum() == 1
    assert len(ax.collections[0].get_segments()) == 4  # around one pixel
    middle = np.mean([s.mean(axis=0) for s in ax.collections[0].get_segments()], axis=0)
    np.testing.assert_allclose(middle[::-1], np.argwhere(coloured)[0])
    assert [text.get_text() for text in ax.texts] == ["a", "b"]


def test_neighbours_share_one_outline():
    masks = np.zeros((1, 4, 5), dtype=bool)
    masks[0, 1:3, 1:4] = True
    ax = plot_image_masks(np.ones((1, 4, 5)), masks)
    assert len(ax.collections[0].get_segments()) == 10


def test_flat_images_take_a_shape():
    ax = plot_image_masks(np.ones((1, 6)), np.ones((1, 6), dtype=bool), shape=(2, 3))
    assert (np.ptp(np.asarray(ax.images[0].get_array()), axis=-1) > 0.1).sum() == 6


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((np.ones((1, 6)), np.ones((1, 6))), "6 pixels are not a square"),
        ((np.ones((1, 9)), np.ones((1, 4))), "one shape"),
        ((np.ones((1, 9)), np.ones((1, 9)), ["a", "b"]), "1 images need as many titles; got 2"),
    ],
)
def test_mistakes_are_named(arguments, says):
    with pytest.raises(ValueError, match=says):
        plot_image_masks(*arguments)
