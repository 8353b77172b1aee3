/** Parses CSV strictly as RFC 4180: lines end with CRLF, quotes only around whole cells, and all lines have the same number of cells. */
export function parseCsv(text: string): readonly Readonly<Record<string, string>>[] {
  const lines: string[][] = []
  let at = 0
  while (at < text.length) {
    const cells: string[] = []
    for (;;) {
      const [match, quoted, plain] = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?=,|\r\n)/.exec(text.slice(at)) ?? []
      if (match === undefined) throw new Error(`Invalid CSV at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`)
      cells.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
      at += match.length
      if (text.startsWith('\r\n', at)) break
      at++
    }
    at += 2
    lines.push(cells)
  }
  const [names = [], ...rows] = lines
  return rows.map((cells, line) => {
    if (cells.length !== names.length)
      throw new Error(`Line ${line + 2} has ${cells.length} cells, not ${names.length}`)
    return Object.fromEntries(names.map((name, column) => [name, cells[column] ?? '']))
  })
}
