"""torch's DataLoader and tf.data, as contestants of `ronde data bench --compare`.

python data_peers.py dataloader FOLDER RESOLUTION BATCH WORKERS
python data_peers.py tfdata FOLDER RESOLUTION BATCH WORKERS

FOLDER holds a folder of JPEGs for each class. Once "ready" was said, each line asks for one turn; its third word is the
number of pictures to go through, and the answer is the time for one of them, in microseconds.
"""

import math
import pathlib
import random
import sys
import time

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def import_or_leave(module: str):
    try:
        return __import__(module, fromlist=["*"])
    except ImportError as error:
        print(f"missing {error} in the environment of {sys.executable}", flush=True)
        sys.exit(0)


def files_of(folder: str) -> tuple[list[str], list[int]]:
    classes = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_dir())
    pairs = [
        (str(file), number)
        for number, folder in enumerate(classes)
        for file in sorted(folder.rglob("*"))
        if file.suffix.lower() in (".jpg", ".jpeg")
    ]
    return [file for file, _ in pairs], [number for _, number in pairs]


def random_crop(width: int, height: int) -> tuple[float, float, float, float]:
    """As everybody crops for ImageNet: 8 to 100 % of the area, sides of 3:4 to 4:3."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            return x, y, x + w, y + h
    return 0, 0, width, height


def dataloader(files, labels, resolution: int, batch: int, workers: int):
    torch = import_or_leave("torch")
    numpy = import_or_leave("numpy")
    image = import_or_leave("PIL.Image")
    mean = numpy.array(MEAN, dtype=numpy.float32).reshape(3, 1, 1)
    deviation = numpy.array(DEVIATION, dtype=numpy.float32).reshape(3, 1, 1)

    class Pictures(torch.utils.data.Dataset):
        def __len__(self):
            return len(files)

        def __getitem__(self, index):
            with image.open(files[index]) as file:
                picture = file.convert("RGB")
            box = random_crop(*picture.size)
            picture = picture.resize((resolution, resolution), image.Resampling.BILINEAR, box=box)
            if random.random() < 0.5:
                picture = picture.transpose(image.Transpose.FLIP_LEFT_RIGHT)
            values = numpy.asarray(picture, dtype=numpy.float32).transpose(2, 0, 1) / 255
            return torch.from_numpy((values - mean) / deviation), labels[index]

    loader = torch.utils.data.DataLoader(
        Pictures(), batch, shuffle=True, num_workers=workers, persistent_workers=True, prefetch_factor=2
    )
    torch.set_num_threads(1)
    return lambda: (len(labels) for _, labels in loader)


def tfdata(files, labels, resolution: int, batch: int, workers: int):
    tf = import_or_leave("tensorflow")
    tf.config.threading.set_inter_op_parallelism_threads(workers)
    whole = tf.constant([0.0, 0.0, 1.0, 1.0], shape=[1, 1, 4])

    def make(file, label):
        data = tf.io.read_file(file)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.image.extract_jpeg_shape(data),
            whole,
            area_range=(0.08, 1.0),
            aspect_ratio_range=(3 / 4, 4 / 3),
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )
        y, x, _ = tf.unstack(begin)
        h, w, _ = tf.unstack(size)
        picture = tf.image.decode_and_crop_jpeg(data, tf.stack([y, x, h, w]), channels=3)
        picture = tf.image.resize(picture, [resolution, resolution])
        picture = tf.image.random_flip_left_right(picture)
        return (picture / 255.0 - MEAN) / DEVIATION, label

    dataset = (
        tf.data.Dataset.from_tensor_slices((files, labels))
        .shuffle(len(files))
        .map(make, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(batch)
        .prefetch(tf.data.AUTOTUNE)
    )
    return lambda: (len(labels) for _, labels in dataset)


def main(peer: str, folder: str, resolution: str, batch: str, workers: str) -> None:
    epoch = {"dataloader": dataloader, "tfdata": tfdata}[peer](
        *files_of(folder), int(resolution), int(batch), int(workers)
    )
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        wanted, seen, start = int(line.split()[2]), 0, time.perf_counter()
        while seen < wanted:
            for count in epoch():
                seen += count
        print(f"{(time.perf_counter() - start) * 1e6 / seen:.3f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
