package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// exported are the answers of the files of TestExports: participants p01 to p12, items from 1 to 5.
var exported = [][]int{
	{1, 2, 1, 2},
	{2, 2, 3, 2},
	{3, 4, 3, 3},
	{4, 5, 4, 4},
	{5, 4, 5, 5},
	{1, 1, 2, 1},
	{2, 3, 2, 3},
	{5, 5, 4, 5},
	{4, 3, 4, 4},
	{3, 3, 3, 2},
	{2, 1, 1, 2},
	{4, 4, 5, 3},
}

// rowsOf returns a head and a line for each participant: in the format, %[1]s is the id, %[2]v to %[5]v are what cell
// makes of the answers, and %[6]d is the number of the row.
func rowsOf(head, format string, cell func(v int) any) string {
	b := head
	for i, a := range exported {
		b += fmt.Sprintf(format+"%[7]s", fmt.Sprintf("p%02d", i+1), cell(a[0]), cell(a[1]), cell(a[2]), cell(a[3]), i+1,
			"\n")
	}
	return b
}

func code(v int) any { return v }

// worded returns words for the answers.
func worded(v int) any {
	return []string{"Never", "Rarely, if at all", "Sometimes", "Often | daily", "Always"}[v-1]
}

// dictionaryOf returns a data dictionary of REDCap with the four items, and further rows of fields before and after.
func dictionaryOf(before, choices, after string) string {
	b := "\"Variable / Field Name\",\"Form Name\",\"Section Header\",\"Field Type\",\"Field Label\",\"Choices, " +
		"Calculations, OR Slider Labels\",\"Text Validation Type OR Show Slider Number\",\"Text Validation Min\"," +
		"\"Text Validation Max\",Identifier?,\"Branching Logic (Show field only if...)\",\"Matrix Group Name\"\n" +
		before
	for _, name := range []string{"q1", "q2", "q3", "q4"} {
		b += name + `,scale,"In the last week, how often, <b>if at all</b>",radio,"` + name +
			`: you felt, or were, low",` + choices + ",,,,,,matrix1\n"
	}
	return b + after
}

const (
	wordChoices = `"1, Never | 2, Rarely, if at all | 3, Sometimes | 4, Often | daily | 5, Always"`
	// shiftedChoices have labels that are codes of others.
	shiftedChoices = `"1, 0 | 2, 1 | 3, 2 | 4, 3 | 5, 4"`
	idField        = "record_id,scale,,text,Record ID,,,,,,,\n"
)

// An export is a file of answers as a program writes it. Either it is read like a plain table of the same answers, or
// it is refused; what is not as in a plain table is said.
type export struct {
	file, right string // the name, and what is right
	text        string // the file; "" for one of testdata
	book        string // the codebook
	flags       []string
	plain       string // the plain table; "" is that of all answers
	says        string // in the log, or in the error
	refused     bool
	matrix      bool // it is one for factorize and rank too
}

func TestExports(t *testing.T) {
	t.Parallel()
	plain := rowsOf("id,q1,q2,q3,q4\n", "%[1]s,%[2]v,%[3]v,%[4]v,%[5]v", code)
	book := dictionaryOf(idField, wordChoices, "")
	gap := strings.Replace(plain, "p04,4,5", "p04,,5", 1)
	for name, c := range map[string]export{
		// REDCap
		"REDCap, the first field renamed, repeated instruments": {
			right: "the first field of the dictionary has the ids, told; rows of the instrument have no answers",
			text: rowsOf("study_id,redcap_repeat_instrument,redcap_repeat_instance,q1,q2,q3,q4,scale_complete,dose\n",
				"%[1]s,,,%[2]v,%[3]v,%[4]v,%[5]v,2,\n%[1]s,meds,1,,,,,,%[6]d\n%[1]s,meds,2,,,,,,3", code),
			book: strings.Replace(book, "record_id", "study_id", 1),
			says: `"ids":"study_id"`,
		},
		"REDCap, a repeated scale under a renamed id": {
			right: "an id twice is an error: not two participants", refused: true,
			text: rowsOf("study_id,redcap_event_name,q1,q2,q3,q4,scale_complete\n",
				"%[1]s,base_arm_1,%[2]v,%[3]v,%[4]v,%[5]v,2\n%[1]s,end_arm_1,%[2]v,%[3]v,%[4]v,%[5]v,2", code),
			book: strings.Replace(book, "record_id", "study_id", 1),
			says: "redcap_event_name",
		},
		"REDCap, fields of all kinds": {
			right: "validated text (age, date), calc, notes, file and descriptive are no items",
			text: rowsOf("record_id,age,visit,q1,q2,q3,q4,total,note,scale_complete\n",
				"%[1]s,%[6]d,2026-11-0%[2]v,%[2]v,%[3]v,%[4]v,%[5]v,%[6]d9,\"said: \"\"fine, thanks\"\"\",2", code),
			book: dictionaryOf(idField+"age,scale,,text,Age,,integer,18,90,y,,\nvisit,scale,,text,Date,,date_ymd,"+
				"2026-01-01,today,,,\n", wordChoices, "total,scale,,calc,Total,\"sum([q1],[q2],[q3],[q4])\",,,,,,\n"+
				"note,scale,,notes,Remarks,,,,,,\"[q1] > 3\",\n"+
				"intro,scale,,descriptive,\"<p>Please, answer</p>\",,,,,,,\n"),
		},
		"REDCap, labels of headings and answers": {
			right: "the headings are labels of the dictionary: refused, with what to export", refused: true,
			text: rowsOf("Record ID,\"q1: you felt, or were, low\",\"q2: you felt, or were, low\",\"q3: you felt, or "+
				"were, low\",\"q4: you felt, or were, low\",Complete?\n",
				`%[1]s,"%[2]v","%[3]v","%[4]v","%[5]v",Complete`, worded),
			book: book, says: "but its label",
		},
		"REDCap, labels of answers": {
			right: "labels with commas and pipes are read as their codes, told",
			text: rowsOf("record_id,q1,q2,q3,q4,scale_complete\n",
				`%[1]s,"%[2]v","%[3]v","%[4]v","%[5]v",Complete`, worded),
			book: book, says: "labels of the codebook",
		},
		"labels and codes in one file": {
			right: "each cell is read as what it is, told",
			text: strings.ReplaceAll(rowsOf("record_id,q1,q2,q3,q4\n", "%[1]s,%[2]v,%[3]v,%[4]v,%[5]v", code),
				",5", ", always "),
			book: book, says: "labels of the codebook",
		},
		"REDCap, labels that are numbers": {
			right: "1.5 is no code, so the label of 1, told",
			text:  rowsOf("record_id,q1,q2,q3,q4\n", "%[1]s,%[2]v.50,%[3]v.5,%[4]v.5,%[5]v.5", code),
			book:  dictionaryOf(idField, `"1, 1.5 | 2, 2.5 | 3, 3.5 | 4, 4.5 | 5, 5.5"`, ""),
			says:  "labels of the codebook",
		},
		"REDCap, labels that are other codes": {
			right: "refused: 1 is a code and the label of 2", refused: true,
			text: rowsOf("record_id,q1,q2,q3,q4\n", "%[1]s,%[2]v,%[3]v,%[4]v,%[5]v", func(v int) any { return v - 1 }),
			book: dictionaryOf(idField, shiftedChoices, ""), says: "is a code of the codebook and the label of",
		},
		"REDCap, codes that are labels of other codes": {
			right: "5 is no label: codes", book: dictionaryOf(idField, shiftedChoices, ""),
			text: strings.Replace(plain, "id,", "record_id,", 1),
		},
		"REDCap, either codes or labels of other codes": {
			right: "codes, told", book: dictionaryOf(idField, shiftedChoices, ""),
			text:  strings.ReplaceAll(strings.Replace(plain, "id,", "record_id,", 1), ",5", ",4"),
			plain: strings.ReplaceAll(plain, ",5", ",4"), says: "q4: 3 is a code of the codebook and the label of 4",
		},
		"REDCap, checkboxes with negative codes": {
			right: "field____1 is the box of code -1; branching leaves empty boxes",
			text: rowsOf("record_id,q1,q2,q3,q4,why____1,why___2,scale_complete\n",
				"%[1]s,%[2]v,%[3]v,%[4]v,%[5]v,0,1,2", code),
			book: dictionaryOf(idField, wordChoices,
				"why,scale,,checkbox,Why,\"-1, Not known, or lost | 2, Ill\",,,,,,\n"),
			flags: []string{"--items", "!why*"},
		},
		"REDCap, missing data codes": {
			right: "words are refused until they are named", refused: true,
			text: strings.Replace(strings.Replace(plain, "id,", "record_id,", 1), "p04,4", "p04,NASK", 1),
			book: book, says: "--missing-code",
		},
		"REDCap, missing data codes, named": {
			right: "missing", plain: gap, flags: []string{"--missing-code", "NASK,-998"},
			text: strings.Replace(strings.Replace(plain, "id,", "record_id,", 1), "p04,4", "p04,NASK", 1), book: book,
		},
		"REDCap, sliders": {
			right: "the range is that of the slider's limits",
			text:  strings.Replace(plain, "id,", "record_id,", 1),
			book: strings.NewReplacer(",,,,,,matrix1", ",number,1,5,,,", ",radio,", ",slider,").Replace(
				dictionaryOf(idField, `"none | some, but little | worst"`, "")),
		},
		"REDCap, an array of the API": {
			file: "x.json", right: "refused: JSON lines are needed", refused: true,
			text: `[{"record_id":"p01","q1":"1"},{"record_id":"p02","q1":"2"}]`, says: "not a JSON object",
		},
		// Qualtrics
		"Qualtrics, three header rows": {
			right: "the two further rows are left out, told; times, addresses and orders are no items",
			text: "\ufeff" + rowsOf("StartDate,Status,IPAddress,Progress,Finished,ResponseId,q1,q2,q3,q4,FL_12_DO\n"+
				"Start Date,Response Type,IP Address,Progress,Finished,Response ID,"+
				"\"How, often?\nIn the last week\",b,c,d,"+
				"FL_12 - Block Randomizer - Display Order\n"+
				strings.Repeat(`"{""ImportId"":""startDate"",""timeZone"":""America/Denver""}",`, 10)+
				"\"{\"\"ImportId\"\":\"\"FL_12_DO\"\"}\"\n",
				"2026-11-20 10:0%[2]v:00,IP Address,10.0.0.%[6]d,100,True,"+
					"%[1]s,%[2]v,%[3]v,%[4]v,%[5]v,q1|q2|q3|q4", code),
			says: "Qualtrics",
		},
		"Qualtrics, an order among the items": {
			right: "refused: it holds several values", refused: true, flags: []string{"--items", "q1_DO"},
			text: rowsOf("ResponseId,q1,q2,q3,q4,q1_DO\n", "%[1]s,%[2]v,%[3]v,%[4]v,%[5]v,3|1|2", code),
			says: "several values",
		},
		"Qualtrics, choice text": {
			right: "refused: a label, and no codebook", refused: true, says: "if it is a label",
			text: rowsOf("ResponseId,q1,q2,q3,q4\n", `%[1]s,"%[2]v","%[3]v","%[4]v","%[5]v"`, worded),
		},
		"Qualtrics, its TSV": {
			file: "x.tsv", right: "refused: UTF-16", refused: true, text: "\xff\xfei\x00d\x00\t\x00q\x001\x00\n\x00",
			says: "UTF-16",
		},
		// LimeSurvey
		"LimeSurvey, newer codes": {
			right: "AO01 is 1, told",
			text: rowsOf("\"id\",\"submitdate\","+
				"\"q1[SQ001]\",\"q2[SQ002]\",\"q3[SQ003]\",\"q4[SQ004]\",\"q4[other]\"\n",
				`"%[1]s","1980-01-01 00:00:00","AO0%[2]v","AO0%[3]v","AO0%[4]v","AO0%[5]v",""`, code),
			flags: []string{"--items", "!*other*"}, says: "LimeSurvey",
		},
		"LimeSurvey, not shown and other": {
			right: "N/A and -oth- are refused until they are named", refused: true, says: "--missing-code",
			text: rowsOf("id;\"q1[SQ001]\";q2;q3;q4\n", "%[1]s;N/A;%[3]v;%[4]v;%[5]v", code),
		},
		"LimeSurvey, not shown and other, named": {
			right: "missing", flags: []string{"--missing-code", "-oth-,N/A"}, plain: gap,
			text: strings.Replace(rowsOf("id;q1;q2;q3;q4\n", "%[1]s;A%[2]v;A%[3]v;A%[4]v;A%[5]v", code),
				"p04;A4", "p04;N/A", 1),
		},
		// SPSS and Stata
		"pyreadstat": {
			right: "1.0 is 1, and an empty cell is missing", plain: gap,
			text: strings.Replace(rowsOf("id,q1,q2,q3,q4\n", "%[1]s,%[2]v.0,%[3]v.0,%[4]v.0,%[5]v.0", code),
				"p04,4.0", "p04,", 1),
			book: "item,text,min,max\nid,\"\",,\nq1,\"felt \"\"low\"\"\",1.0,5.0\n" +
				"q2,\"\",1.0,5.0\nq3,b,1.0,5.0\nq4,b,1.0,5.0\n",
		},
		"SPSS, #NULL!": {
			right: "refused until it is named", refused: true, says: "--missing-code",
			text: strings.Replace(plain, "p04,4", "p04,#NULL!", 1),
		},
		// Excel
		"Excel of Germany": {
			right: "sep=, BOM, semicolons, decimal commas, empty rows and columns at the end: numbers, told",
			text: "\ufeffsep=;\r\n" + strings.ReplaceAll(rowsOf("id;q1;q2;q3;q4;;\n",
				"%[1]s;%[2]v,0;%[3]v,0;%[4]v;%[5]v,00;;", code)+";;;;;;\n;;;;;;\n", "\n", "\r\n"),
			says: "decimal comma",
		},
		"Excel, no-break spaces": {
			right: "spaces around cells and names do not count",
			text:  rowsOf("\u00a0id,q1\u00a0, q2,q3 ,q4\n", "%[1]s,\u00a0%[2]v,%[3]v\u00a0, %[4]v\u202f,%[5]v", code),
		},
		"Excel, an answer as a date": {
			right: "refused: a date", refused: true, says: "it is a date",
			text: strings.Replace(plain, "p04,4", "p04,4-May", 1),
		},
		"Excel, thousands": {
			right: "refused: 1.234,5 separates thousands", refused: true, says: "separates thousands",
			text: strings.Replace(strings.ReplaceAll(plain, ",", ";"), "p04;4", "p04;1.234,5", 1),
		},
		"Excel, a point for thousands, decimal commas below": {
			right: "refused: 1.234 may be 1234", refused: true, says: `column "q2": 1.234 or 1234`, matrix: true,
			text: strings.Replace(strings.Replace(rowsOf("q1;q2;q3;q4\n", "%[2]v;%[3]v;%[4]v;%[5]v", code),
				"2;2;3;2", "2;1.234;3;2", 1), "4;4;5;3", "4,5;4;5;3", 1),
		},
		"Excel, a point for thousands in a confound": {
			right: "refused: 1.234 may be 1234", refused: true, says: `line 2, column "steps": 1.234 or 1234`,
			text:  rowsOf("id;steps;q1;q2;q3;q4\n", "%[1]s;1.23%[6]d;%[2]v,0;%[3]v;%[4]v;%[5]v", code),
			flags: []string{"--confounds", "steps:numeric"},
		},
		"Excel, points in words": {
			right: "1.001 of another column, which is not read as a number, is no fault",
			text:  rowsOf("id;site;q1;q2;q3;q4\n", "%[1]s;1.00%[6]d;%[2]v,0;%[3]v;%[4]v;%[5]v", code),
		},
		"two headings that differ by spaces": {
			right: "refused: two columns of one name", refused: true, says: "two columns of this name",
			text: strings.Replace(plain, "q1,q2", "q1,q1\u00a0", 1),
		},
		"a heading that differs from the codebook by a no-break space": {
			right: "refused, with the column that it may be", refused: true, says: `but there is`,
			text: strings.Replace(plain, "q1", "q\u00a01", 1), book: "item,min,max\nq 1,1,5\nq2,1,5\nq3,1,5\nq4,1,5\n",
		},
		// R, pandas
		"R's write.table without col.names=NA": {
			right: "refused: the header lacks a name over the row names", refused: true, says: "col.names=NA",
			matrix: true,
			text:   rowsOf("\"q1\",\"q2\",\"q3\",\"q4\"\n", `"%[1]s",%[2]v,%[3]v,%[4]v,%[5]v`, code),
		},
		"R's logical values": {
			right: "refused: TRUE is no number", refused: true, says: "1 for true",
			text:   strings.ReplaceAll(rowsOf("q1,q2,q3,q4\n", "%[2]v,%[3]v,%[4]v,%[5]v", code), ",1", ",TRUE"),
			matrix: true,
		},
		"pandas, an index that was read and written again": {
			right: "no item, and no column of a matrix: told", flags: []string{"--items", "*"},
			text: rowsOf("Unnamed: 0,id,q1,q2,q3,q4\n", "%[6]d,%[1]s,%[2]v,%[3]v,%[4]v,%[5]v", code),
		},
		"readr, a column without a name": {
			right: "no item, and no column of a matrix: told", flags: []string{"--items", "*"}, matrix: true,
			text: rowsOf("...1,q1,q2,q3,q4\n", "%[6]d,%[2]v,%[3]v,%[4]v,%[5]v", code), plain: "numbered",
		},
		"tabs, quotation marks inside cells": {
			file: "x.tsv", right: "part of the cell",
			text: rowsOf("id\tsaid\tq1\tq2\tq3\tq4\n",
				"%[1]s\t5'%[2]v\" tall, \"fine\"\t%[2]v\t\"%[3]v\"\t%[4]v\t%[5]v", code),
		},
		"numbers that only programs write": {
			right: "refused: 1_0", refused: true, says: "underscores",
			text: strings.Replace(plain, "p04,4", "p04,1_0", 1),
		},
		"a number beyond all": {
			right: "refused: 1e400", refused: true, says: "finite", matrix: true,
			text: rowsOf("q1,q2,q3,q4\n", "%[2]v,%[3]v,%[4]v,%[5]ve400", code),
		},
		"infinity": {
			right: "refused: inf", refused: true, says: "finite", matrix: true,
			text: rowsOf("q1,q2,q3,q4\n", "%[2]v,-Inf,%[4]v,%[5]v", code),
		},
		"a number with its label": {
			right: "refused: a number with its label", refused: true, says: "number with a label",
			text: strings.Replace(plain, "p04,4", "p04,4 = often", 1),
		},
		"Google Forms, several answers": {
			right: "refused: several values", refused: true, says: "several values",
			text: strings.Replace(plain, "p04,4", "p04,\"4;2\"", 1),
		},
		// Parquet
		"types.parquet": {
			right: "half floats, decimals, unsigned numbers and dictionaries are numbers; times and lists stay out",
		},
		"fastparquet.parquet": {right: "a null is missing", plain: gap},
		"booleans.parquet":    {right: "refused: logical values", refused: true, says: "1 for true"},
		"times.parquet":       {right: "refused: times", refused: true, says: "it is a date"},
		"index.parquet": {
			right: "the index is no item, and no column of a matrix: told", flags: []string{"--items", "*"},
			matrix: true, plain: "numbered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", "exports", name)
			if c.text != "" {
				path = clitest.File(t, cmp.Or(c.file, "x.csv"), c.text)
			}
			flags := []string{"--items", "q*", "--range", "1:5"}
			same := slices.Clone(flags)
			if c.book != "" {
				flags = []string{"--codebook", clitest.File(t, "book.csv", c.book)}
			}
			flags = append(flags, c.flags...)
			text := cmp.Or(c.plain, plain)
			if c.plain == "numbered" {
				text = rowsOf("q1,q2,q3,q4\n", "%[2]v,%[3]v,%[4]v,%[5]v", code)
			}
			want := commands(t, clitest.File(t, "plain.csv", text), same, c.matrix && !c.refused)
			got := commands(t, path, flags, c.matrix)
			for i, g := range got {
				if c.refused && (g.Code != cli.ExitFailed || !strings.Contains(g.Stderr, c.says)) {
					t.Errorf("%s: right is: %s; it exits %d without %q: %s", g.command, c.right, g.Code, c.says,
						g.Stderr)
				}
				if !c.refused && (g.Code != 0 || g.Stdout != want[i].Stdout ||
					i < 2 && !strings.Contains(g.Stderr, c.says)) {
					t.Errorf("%s: right is: %s; it exits %d with\n%s\nnot\n%s\nlog, which must have %q: %s", g.command,
						c.right,
						g.Code, g.Stdout, want[i].Stdout, c.says, g.Stderr)
				}
			}
		})
	}
}

type ranCommand struct {
	clitest.Ran
	command string
}

// commands runs the commands that read a file of answers: items, fit and score, and factorize and rank if it is a
// matrix. Of what they print, only what the answers decide is left.
func commands(t *testing.T, path string, flags []string, matrix bool) (all []ranCommand) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	call := func(fields []string, args ...string) {
		r := wardcast(t, "", args...)
		r.Stderr = strings.ReplaceAll(r.Stderr, path, "FILE") // whose name would answer for it
		if fields != nil && r.Code == 0 {
			kept := map[string]any{}
			for name, v := range clitest.Object(t, r.Stdout) {
				if slices.Contains(fields, name) {
					kept[name] = v
				}
			}
			if items, ok := kept["items"].([]any); ok {
				for _, item := range items {
					for _, name := range []string{"item", "subscale", "text", "choices"} {
						delete(item.(map[string]any), name)
					}
				}
			}
			data, err := json.Marshal(kept)
			if err != nil {
				t.Fatal(err)
			}
			r.Stdout = string(data)
		}
		all = append(all, ranCommand{r, strings.Join(args[:2], " ")})
	}
	call([]string{"n", "items"}, append([]string{"questionnaire", "items", path, "--output=json"}, flags...)...)
	call([]string{"objective", "explained", "missing", "participants"}, append([]string{
		"questionnaire", "fit", path,
		"--output=json", "--factors", "1", "--beta", "0.1", "--out", dir,
	}, flags...)...)
	if all[1].Code == 0 {
		call(nil, "questionnaire", "score", path, "--model", dir)
	}
	if matrix {
		call([]string{"objective"}, "factorize", "--input", path, "--output=json", "--method", "nmf", "--rank", "1",
			"--out", dir+"2")
		call([]string{"curve"}, "rank", "--input", path, "--output=json", "--method", "fa")
	}
	return all
}
