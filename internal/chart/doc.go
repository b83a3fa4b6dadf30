// Package chart draws the charts of pages, reports and questionnaires as SVG.
//
// A Chart is a frame in pixels with one Span of data for each axis. Its methods add parts in their order: axes with ticks, lines,
// bands, bars, dots, texts, series with intervals, and a legend below. SVG returns an element of a page, Document a file that
// stands alone. What a chart is given may be anything: places outside the frame move to its edge, texts are escaped. Equal charts
// are equal to the byte, but for the rounding of coordinates to a tenth of a pixel.
//
// A part has a class and no colour: style.css in this folder says what classes look like, in light, dark, forced colours and
// print, and holds the palette of pages and reports too. Style returns it: the service serves it in front of its own style sheet,
// and reports hold it. A document holds its rules with the light colours, without variables, which editors of drawings lack.
//
// The package imports the standard library alone, so that reports of models, which know nothing of services and questionnaires,
// can stand on it. It is no part of the rooms above, since models, questionnaires and the service draw with it alike; and it
// exports nothing that another program would want to depend on.
package chart
