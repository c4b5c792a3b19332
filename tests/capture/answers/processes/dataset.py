"""PyTorch: Dataset.__getitem__ in Python, called in two workers of a DataLoader, holds up the training."""

from truth import phase, write

with phase("import"):
    import torch  # truth: import
    from torch.utils.data import DataLoader, Dataset  # truth: import


class Slices(Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, k):
        with phase("item"):
            values = [((i * 31 + k) % 255) / 255 for i in range(96 * 96)]  # truth: item
            for i in range(1, len(values)):  # truth: item
                values[i] = 0.5 * (values[i] + values[i - 1])  # truth: item
            item = torch.tensor(values)  # truth: item
        write()
        return item


def train(batch):
    with phase("train"):
        return float((batch @ batch.T).sum())  # truth: train


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(sum(train(batch) for _ in range(5) for batch in DataLoader(Slices(), batch_size=8, num_workers=2)))
