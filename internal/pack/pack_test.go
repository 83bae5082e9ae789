package pack_test

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/internal/pack"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0: a new one")

const sample = `{"metadata":{"name":"web-1","namespace":"shop","uid":"8f14e45f"},"spec":{"node":"n1","image":"web:1.29"}}`

func comesBack(t *testing.T, s *pack.Sample, text []byte) string {
	t.Helper()
	packed := s.Pack(text)
	require.LessOrEqual(t, len(packed), len(text)+1)
	got, err := s.Unpack(packed, []byte("before"))
	require.NoError(t, err)
	require.Equal(t, "before"+string(text), string(got))
	return packed
}

func TestEveryTextComesBack(t *testing.T) {
	t.Parallel()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	texts := [][]byte{
		nil, {0}, {1}, []byte(sample), []byte(sample[:40]), []byte(strings.Repeat(sample, 1000)), noise, noise[:50], make([]byte, 3<<20),
	}
	for _, of := range texts {
		s := pack.New(of)
		for _, text := range texts {
			comesBack(t, s, text)
		}
	}
}

func TestWhatIsLikeTheSampleIsShort(t *testing.T) {
	t.Parallel()
	s := pack.New([]byte(sample))
	require.Less(t, len(comesBack(t, s, []byte(sample))), 12)
	other := strings.ReplaceAll(sample, "web-1", "web-2")
	require.Less(t, len(comesBack(t, s, []byte(other))), 20)
}

func TestSampleIsCopied(t *testing.T) {
	t.Parallel()
	text := []byte(sample)
	s := pack.New(text)
	packed := s.Pack([]byte(sample))
	clear(text)
	got, err := s.Unpack(packed, nil)
	require.NoError(t, err)
	require.Equal(t, sample, string(got))
}

func TestBrokenIsAnError(t *testing.T) {
	t.Parallel()
	s := pack.New([]byte(sample))
	packed := s.Pack([]byte(strings.Repeat(sample, 3)))
	for _, broken := range []string{"", "\x02", "\x01", packed[:len(packed)/2]} {
		_, err := s.Unpack(broken, nil)
		require.ErrorContains(t, err, "pack: ")
	}
	got, err := s.Unpack(packed, nil)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat(sample, 3), string(got))
}

func TestUnpackAllocatesNothing(t *testing.T) {
	s := pack.New([]byte(sample))
	packed := s.Pack([]byte(strings.Repeat(sample, 30)))
	into := make([]byte, 0, 10_000)
	least := 100.0 // sometimes the reader was taken by the garbage collector, or by the race detector
	for range 30 {
		least = min(least, testing.AllocsPerRun(1, func() {
			if _, err := s.Unpack(packed, into[:0]); err != nil {
				t.Error(err)
			}
		}))
	}
	require.Zero(t, least)
}

func TestPackConcurrently(t *testing.T) {
	t.Parallel()
	s := pack.New([]byte(sample))
	var group worker.Group
	for n := range 4 {
		text := []byte(strings.Repeat(sample[n:], n+1))
		group.Go(func() {
			for range 50 {
				got, err := s.Unpack(s.Pack(text), nil)
				if err != nil || !bytes.Equal(got, text) {
					t.Errorf("%q: %v", got, err)
				}
			}
		})
	}
	group.Wait()
}

func FuzzPack(f *testing.F) {
	f.Add([]byte(sample), []byte(sample))
	f.Add([]byte(sample), []byte(strings.ReplaceAll(sample, "1", "2")))
	f.Add([]byte{}, []byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, of, text []byte) { comesBack(t, pack.New(of), text) })
}

func FuzzUnpack(f *testing.F) {
	s := pack.New([]byte(sample))
	f.Add([]byte(s.Pack([]byte(sample))))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, packed []byte) {
		if len(packed) < 1000 { // a small one may grow a thousandfold
			_, _ = s.Unpack(string(packed), nil)
		}
		comesBack(t, s, packed)
	})
}

func BenchmarkPack(b *testing.B) {
	s := pack.New([]byte(sample))
	text := []byte(strings.Repeat(sample, 40))
	packed := s.Pack(text)
	b.Run("Pack", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			s.Pack(text)
		}
		b.ReportMetric(float64(len(packed))/float64(len(text)), "ratio")
	})
	b.Run("Unpack", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		into := make([]byte, 0, len(text)+1)
		for b.Loop() {
			if _, err := s.Unpack(packed, into[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
