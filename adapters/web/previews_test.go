package web

import (
	"fmt"
	"image"
	"image/color"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
)

// Many readers of one frame cause one drawing.
func TestPreviewsAreDrawnOncePerFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, drawn := newPreviews(), atomic.Int64{}
		read := func(seq int, ended bool) {
			var readers sync.WaitGroup
			release := make(chan struct{})
			for range 50 {
				readers.Go(func() {
					v, err := k.draw("m", preview{seq: seq, ended: ended}, func() ([]byte, error) {
						<-release
						drawn.Add(1)
						return fmt.Append(nil, seq, ended), nil
					})
					if err != nil || string(v.image) != fmt.Sprint(seq, ended) {
						t.Error(v, err)
					}
				})
			}
			synctest.Wait() // all wait for the drawing, or have found the stored one
			close(release)
			readers.Wait()
		}
		read(7, false)
		read(7, false)
		require.EqualValues(t, 1, drawn.Load())
		read(8, false)
		read(8, true)
		require.EqualValues(t, 3, drawn.Load())
		require.True(t, k.find("m").shows(8, true))
	})
}

// The preview of an ended match shows the end of the setup.
func TestPreviewsDoNotShowTheEnd(t *testing.T) {
	frames := []match.Frame{{Seq: 1}, {Seq: 2}, {Seq: 3, Common: match.Common{Turn: 1}}, {Seq: 4, Common: match.Common{Turn: 1}}}
	require.Equal(t, 2, afterSetup(frames).Seq)
	require.Equal(t, 1, afterSetup(frames[:1]).Seq)
}

// A picture with few colors keeps them all. In a picture with more colors, the most
// frequent ones stay, and each of the others is replaced with a similar one.
func TestPalette(t *testing.T) {
	draw := func(colors int) (*image.RGBA, *image.Paletted) {
		picture := image.NewRGBA(image.Rect(0, 0, 40, 40))
		for i := range 1600 {
			n := max(0, i-1200) % colors // color 0 is frequent
			picture.SetRGBA(i%40, i/40, color.RGBA{uint8(n), uint8(3 * n), uint8(n / 2), 0xff})
		}
		return picture, paletted(picture)
	}
	picture, few := draw(200)
	for i := range 1600 {
		require.Equal(t, color.Color(picture.RGBAAt(i%40, i/40)), few.At(i%40, i/40))
	}
	picture, many := draw(400)
	require.Len(t, many.Palette, 256)
	require.Equal(t, color.Color(picture.RGBAAt(0, 0)), many.At(0, 0))
	for i := range 1600 {
		c := picture.RGBAAt(i%40, i/40)
		require.Equal(t, many.Palette.Convert(c), many.At(i%40, i/40), "the most similar color of %v", c)
	}
}

func TestPreviewCacheIsBounded(t *testing.T) {
	k := newPreviews()
	for i := range 3 * maxPreviews {
		k.store(fmt.Sprint(i), preview{image: []byte("x")})
		k.store(fmt.Sprint(i), preview{image: []byte("newer")})
	}
	require.Len(t, k.stored, maxPreviews)
	require.Len(t, k.order, maxPreviews)
	require.Equal(t, "newer", string(k.find(fmt.Sprint(3*maxPreviews-1)).image))
}
