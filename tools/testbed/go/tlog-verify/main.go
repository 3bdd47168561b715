// Verifies a log in a folder with Go's own packages, from its checkpoint and tiles alone: that the checkpoint is signed by the log's key
// and by as many witnesses as are named, that every tile belongs to its root, that each entry is in the tree, and that earlier
// checkpoints are of its beginning. It prints what it verified, and ends with 1 at the first thing that is wrong.
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	fnote "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

var (
	folder      = flag.String("log", "", "the folder of the log")
	logKey      = flag.String("key", "", "the verifier key of the log")
	witnessKeys = flag.String("witnesses", "", "verifier keys of witnesses, with commas between: each must have cosigned")
	earlier     = flag.String("earlier", "", "files of earlier checkpoints, with commas between")
	showVersion = flag.Bool("version", false, "print the version")
	version     = "unknown"
)

func main() {
	flag.Parse()
	if *showVersion {
		fmt.Println(version)
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	tree, cosigned, err := openCheckpoint(filepath.Join(*folder, "checkpoint"))
	if err != nil {
		return err
	}
	if tree.N == 0 && tree.Hash != sha256.Sum256(nil) {
		return fmt.Errorf("an empty tree has another root than %v", tree.Hash)
	}
	// Verifies each tile that it reads up to the root.
	hashes := tlog.TileHashReader(tree, &files{tree.N})
	if err := checkEntries(tree, hashes); err != nil {
		return err
	}
	for _, path := range list(*earlier) {
		if err := checkEarlier(path, tree, hashes); err != nil {
			return err
		}
	}
	fmt.Printf("size %d root %v cosigned %d\n", tree.N, tree.Hash, cosigned)
	return nil
}

func openCheckpoint(path string) (tlog.Tree, int, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return tlog.Tree{}, 0, err
	}
	verifier, err := note.NewVerifier(*logKey)
	if err != nil {
		return tlog.Tree{}, 0, err
	}
	opened, err := note.Open(bytes, note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, 0, fmt.Errorf("%s: %w", path, err)
	}
	cosigned, err := checkWitnesses(bytes)
	if err != nil {
		return tlog.Tree{}, 0, fmt.Errorf("%s: %w", path, err)
	}
	tree, err := parseTree(opened.Text, verifier.Name())
	return tree, cosigned, err
}

func checkWitnesses(bytes []byte) (int, error) {
	keys := list(*witnessKeys)
	for _, key := range keys {
		witness, err := fnote.NewVerifierForCosignatureV1(key)
		if err != nil {
			return 0, err
		}
		if _, err := note.Open(bytes, note.VerifierList(witness)); err != nil {
			return 0, fmt.Errorf("witness %s: %w", witness.Name(), err)
		}
	}
	return len(keys), nil
}

// parseTree reads a checkpoint by way of tlog, whose own format is the same under a fixed origin.
func parseTree(text, origin string) (tlog.Tree, error) {
	rest, ok := strings.CutPrefix(text, origin+"\n")
	if !ok {
		return tlog.Tree{}, fmt.Errorf("the checkpoint is not of %s", origin)
	}
	return tlog.ParseTree([]byte("go.sum database tree\n" + rest))
}

// checkEntries compares each entry with the hash that the tree has, and with a proof made from the tiles of every 97th.
func checkEntries(tree tlog.Tree, hashes tlog.HashReader) error {
	for first := int64(0); first < tree.N; first += 1 << height {
		width := min(tree.N-first, 1<<height)
		entries, err := readBundle(first>>height, int(width), tree.N)
		if err != nil {
			return err
		}
		indexes := make([]int64, width)
		for i := range indexes {
			indexes[i] = tlog.StoredHashIndex(0, first+int64(i))
		}
		stored, err := hashes.ReadHashes(indexes)
		if err != nil {
			return fmt.Errorf("tiles of records %d to %d: %w", first, first+width-1, err)
		}
		for i, entry := range entries {
			if err := checkEntry(tree, hashes, first+int64(i), tlog.RecordHash(entry), stored[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkEntry(tree tlog.Tree, hashes tlog.HashReader, index int64, hash, stored tlog.Hash) error {
	if hash != stored {
		return fmt.Errorf("record %d is not what was logged", index)
	}
	if index%97 != 0 && index != tree.N-1 {
		return nil
	}
	proof, err := tlog.ProveRecord(tree.N, index, hashes)
	if err != nil {
		return err
	}
	return tlog.CheckRecord(proof, tree.N, tree.Hash, index, hash)
}

func checkEarlier(path string, tree tlog.Tree, hashes tlog.HashReader) error {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	verifier, err := note.NewVerifier(*logKey)
	if err != nil {
		return err
	}
	opened, err := note.Open(bytes, note.VerifierList(verifier))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	old, err := parseTree(opened.Text, verifier.Name())
	if err != nil || old.N == 0 {
		return err
	}
	proof, err := tlog.ProveTree(tree.N, old.N, hashes)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := tlog.CheckTree(proof, tree.N, tree.Hash, old.N, old.Hash); err != nil {
		return fmt.Errorf("%s is not of the beginning of this log: %w", path, err)
	}
	return nil
}

func readBundle(index int64, width int, size int64) ([][]byte, error) {
	path := strings.Replace(tilePath(tlog.Tile{H: height, L: 0, N: index, W: width}), "tile/0/", "tile/entries/", 1)
	bytes, err := os.ReadFile(filepath.Join(*folder, path))
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, 0, width)
	for len(bytes) >= 2 {
		length := 2 + int(binary.BigEndian.Uint16(bytes))
		if length > len(bytes) {
			break
		}
		entries = append(entries, bytes[2:length])
		bytes = bytes[length:]
	}
	if len(bytes) > 0 || len(entries) != width {
		return nil, fmt.Errorf("%s has %d entries and %d bytes more, and not %d entries", path, len(entries), len(bytes), width)
	}
	return entries, nil
}

// files reads tiles from the folder; it keeps none, since the reader above reads each once a call.
type files struct{ size int64 }

func (f *files) Height() int { return height }

func (f *files) SaveTiles([]tlog.Tile, [][]byte) {}

func (f *files) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(tiles))
	for i, tile := range tiles {
		bytes, err := os.ReadFile(filepath.Join(*folder, tilePath(tile)))
		if err != nil {
			return nil, err
		}
		data[i] = bytes
	}
	return data, nil
}

// tilePath is that of tlog-tiles, which names the height no more: "tile/8/0/000" became "tile/0/000".
func tilePath(tile tlog.Tile) string {
	return strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
