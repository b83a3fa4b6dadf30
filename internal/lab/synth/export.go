package synth

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/ingest/msg"
)

// WriteJSONL writes the first n notes as JSON lines: the message's fields, label (0 or 1) and true_probability.
func WriteJSONL(ctx context.Context, w io.Writer, g *Generator, n int) error {
	return export(ctx, w, n, func(i int, dst []byte) []byte {
		note := g.At(i)
		dst = note.AppendJSON(dst)
		dst = fmt.Appendf(dst[:len(dst)-1], `,"label":%c,"true_probability":`, label(&note))
		dst = strconv.AppendFloat(dst, note.Probability, 'g', -1, 64)
		return append(dst, '}', '\n')
	})
}

// WriteOutcomes writes the outcomes of the first n notes as JSON lines, in the order of recording.
func WriteOutcomes(ctx context.Context, w io.Writer, g *Generator, n int) error {
	all, err := g.Log(ctx, n)
	if err != nil {
		return err
	}
	return export(ctx, w, len(all), func(i int, dst []byte) []byte { return append(all[i].AppendJSON(dst), '\n') })
}

// WriteCSV writes a header and the first n notes, one per line. A missing number is an empty cell.
func WriteCSV(ctx context.Context, w io.Writer, g *Generator, n int) error {
	if _, err := io.WriteString(w, "visit_id,patient_id,arrived_at,site,complaint,text,age,sex,acuity,vitals."+
		strings.Join(msg.VitalNames(), ",vitals.")+",label,true_probability\n"); err != nil {
		return fmt.Errorf("writing notes: %w", err)
	}
	return export(ctx, w, n, func(i int, dst []byte) []byte {
		note := g.At(i)
		for _, s := range []string{note.VisitID, note.PatientID, note.ArrivedAt, note.Site, note.Complaint} {
			dst = append(append(dst, s...), ',')
		}
		dst = append(append(dst, '"'), note.Text...) // no text holds a quotation mark
		dst = append(dst, '"', ',')
		dst = appendCell(dst, note.Age)
		dst = append(append(dst, note.Sex...), ',')
		dst = appendCell(dst, note.Acuity)
		for _, v := range msg.VitalSigns() {
			dst = appendCell(dst, *v.In(&note.Note))
		}
		dst = append(dst, label(&note), ',')
		dst = strconv.AppendFloat(dst, note.Probability, 'g', -1, 64)
		return append(dst, '\n')
	})
}

func label(n *Note) byte {
	if n.Admitted {
		return '1'
	}
	return '0'
}

func appendCell(dst []byte, o msg.Optional) []byte {
	if o.Set {
		dst = strconv.AppendFloat(dst, o.Value, 'g', -1, 64)
	}
	return append(dst, ',')
}

func export(ctx context.Context, w io.Writer, n int, line func(i int, dst []byte) []byte) error {
	b := bufio.NewWriterSize(w, 1<<16)
	var buf []byte
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		buf = line(i, buf[:0])
		if _, err := b.Write(buf); err != nil {
			return fmt.Errorf("writing notes: %w", err)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing notes: %w", err)
	}
	return nil
}
