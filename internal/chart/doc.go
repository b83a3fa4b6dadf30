// Package chart draws the charts of pages, reports and questionnaires as SVG.
//
// A Chart is a frame in pixels with a Span of data for each axis. Its methods add parts in their order: axes with
// ticks, lines, bands, bars, dots, texts, series with intervals, and a legend below. SVG returns an element of a page,
// Document a file that stands alone. Values that are not numbers are left out, and points outside the frame are moved
// to its edge. Texts are escaped. Equal charts give equal bytes.
//
// A part has a class and no colour. The file style.css defines the look of the classes in light, dark, forced colours
// and print, and the palette of pages and reports. The service serves it before its own style sheet, and reports embed
// it. A Document holds its rules in light colours, without variables, which many viewers lack.
//
// It stands in internal because the classes fit our own pages and reports only: other programs use a plotting library.
// It imports the standard library only, so that reports of models can be drawn without the service.
package chart
