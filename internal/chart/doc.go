// Package chart draws the charts of pages, reports and questionnaires as SVG.
//
// A Chart is a frame in pixels with a Span of data for each axis. Its methods add parts in their order: axes with
// ticks, lines, bands, bars, dots, texts, series with intervals, and a legend below. SVG returns an element of a page,
// Document a file that stands alone. Any number may be drawn: what is not a number is left out, and what lies outside
// the frame moves to its edge. Texts are escaped. Equal charts are equal to the byte.
//
// A part has a class and no colour. The file style.css says what classes look like in light, dark, forced colours and
// print, and holds the palette of pages and reports too. The service serves it in front of the style sheet of its
// pages, and reports embed it. A Document holds its rules in light colours, without variables, which many viewers lack.
//
// It stands in internal because the classes are an agreement with our own pages and reports: an outsider draws with a
// library for plots. It imports the standard library only, so that reports of models can be drawn without the service.
package chart
