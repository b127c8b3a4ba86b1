"""compare.py DUMP MAT FATHOM: what two lists have in common of

    address retained shallow dominator class

The own sizes of classes are left out of the third figure: MAT counts their static fields alone,
HotSpot has an instance of java.lang.Class besides.
"""

import sys


def read(path):
    rows = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            address, retained, shallow, _, name = line.rstrip("\n").split(" ", 4)
            rows[int(address, 16)] = (int(retained), int(shallow), name)
    return rows


def main():
    dump, mat, fathom = sys.argv[1], read(sys.argv[2]), read(sys.argv[3])
    both = [(mat[address], fathom[address]) for address in mat if address in fathom]
    plain = [(a, b) for a, b in both if a[2] != "java.lang.Class"]
    same = sum(a[0] == b[0] for a, b in both)
    near = sum(abs(a[0] - b[0]) <= 0.02 * a[0] for a, b in both)
    shallow = sum(a[1] == b[1] for a, b in plain)
    print(
        f"{dump}: {len(mat)} objects of MAT's, {len(both)} of them fathom's; retained the same {same}, within 2% {near};"
        f" own size the same {shallow} of {len(plain)} that are no classes"
    )


main()
