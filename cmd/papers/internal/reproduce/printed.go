package reproduce

// printedSize is the number of rows and of columns of the paper's simulated matrices.
const printedSize = 500

// printedRow names a row of tables 1 to 4.
type printedRow struct {
	part   Part
	method string
	rank   int
}

// printedTables returns what the paper prints in each row, in the order of the part's columns.
func printedTables() map[printedRow]string {
	return map[printedRow]string{
		{Table1, paperSONMF, 10}: "0.0878 7.92e-23 0.462 0.347 0 0 0.74 14.5",
		{Table1, paperSONMF, 30}: "0.0808 4.21e-21 0.694 0.634 0 0 1.42 21.6",
		{Table1, paperSONMF, 50}: "0.0750 9.26e-20 0.913 0.840 0 0 1.36 10.2",
		{Table1, nameONMF, 10}:   "0.2631 0.040 3.504 0.653 81.49 0 0.76 17.3",
		{Table1, nameONMF, 30}:   "0.7440 0.439 6.950 3.197 91.54 0 1.71 44.3",
		{Table1, nameONMF, 50}:   "1.1684 1.404 8.953 4.262 92.27 0 3.78 70.3",
		{Table1, nameNMF, 10}:    "0.1598 N/A 1.554 1.942 1.39 1.77 3.20 292.1",
		{Table1, nameNMF, 30}:    "0.4190 N/A 3.344 4.001 0.93 0.57 11.07+ 500+",
		{Table1, nameNMF, 50}:    "1.5420 N/A 5.493 5.854 0.82 0.41 18.48+ 500+",
		{Table1, nameSemi, 10}:   "0.1206 N/A 0.866 1.729 0 0 4.23 412.1",
		{Table1, nameSemi, 30}:   "0.1879 N/A 1.839 3.499 0 0 12.08+ 500+",
		{Table1, nameSemi, 50}:   "0.2708 N/A 2.609 5.006 0 0 18.81+ 500+",
		{Table2, paperSONMF, 10}: "0.0765 1.11e-23 0.289 0.444 0 3.95 0.69 10.1",
		{Table2, paperSONMF, 30}: "0.0729 4.85e-23 0.896 1.198 0 5.39 1.92 8.3",
		{Table2, paperSONMF, 50}: "0.0678 1.61e-22 1.542 1.754 0 4.77 1.15 7.8",
		{Table2, nameONMF, 10}:   "0.0747 0.079 0.164 0.302 62.5 0.04 0.79 18.9",
		{Table2, nameONMF, 30}:   "0.0703 0.521 0.461 0.953 72.9 0.02 1.79 40.5",
		{Table2, nameONMF, 50}:   "0.0666 1.457 0.669 1.575 75.7 0.04 3.38 59.0",
		{Table2, nameNMF, 10}:    "0.1064 N/A 0.209 1.217 24.9 20.8 3.73 317.9",
		{Table2, nameNMF, 30}:    "0.1297 N/A 0.717 3.038 40.9 29.4 11.71 394.2",
		{Table2, nameNMF, 50}:    "0.1421 N/A 1.509 4.463 45.7 33.1 19.33 411.1",
		{Table2, nameSemi, 10}:   "0.0749 N/A 0.285 0.386 0 0 0.42 29.3",
		{Table2, nameSemi, 30}:   "0.0676 N/A 0.885 0.983 0 0 1.10 39.1",
		{Table2, nameSemi, 50}:   "0.0628 N/A 1.508 1.754 0 0 2.10 49.6",
		{Table3, paperSONMF, 10}: "0.0856 3.4e-27 3.717 3.724 0 18.62 0.49 6.7",
		{Table3, paperSONMF, 30}: "0.0774 2.4e-25 6.349 6.382 0 18.14 0.67 7.6",
		{Table3, paperSONMF, 50}: "0.0694 1.6e-25 8.044 8.081 0 16.65 0.92 8.7",
		{Table3, nameSemi, 10}:   "0.0854 N/A 3.739 3.637 0 0 0.17 8.3",
		{Table3, nameSemi, 30}:   "0.0759 N/A 6.350 6.383 0 0 0.40 14.8",
		{Table3, nameSemi, 50}:   "0.0671 N/A 8.018 8.014 0 0 0.73 18.6",
		{Table4, paperSONMF, 10}: "0.4792 2.177e-25 47.61 1.876 2.030 0 18.06 67.11",
		{Table4, paperSONMF, 30}: "0.3124 1.577e-23 72.74 4.394 4.249 0 21.22 81.06",
		{Table4, paperSONMF, 50}: "0.2246 5.284e-23 86.32 6.462 6.110 0 23.19 99.15",
		{Table4, nameLog, 10}:    "0.4938 N/A 63.03 2.789 2.938 8.14 0 39.75",
		{Table4, nameLog, 30}:    "0.3385 N/A 90.41 5.649 5.639 7.56 0 46.21",
		{Table4, nameLog, 50}:    "0.2536 N/A 101.65 7.606 7.499 8.668 0 53.38",
	}
}
