/** An upload that grows in one place. */
export interface FormAttack {
  readonly name: string
  write(bytes: number): string
}

export const formBoundary = 'boundary-of-the-upload'

const field = (name: string, value: string): string =>
  `--${formBoundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const file = (name: string, filename: string, content: string, head = ''): string =>
  `--${formBoundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: image/png\r\n${head}\r\n${content}\r\n`
const end = `--${formBoundary}--\r\n`

const fill = (bytes: number, piece: string): string => piece.repeat(Math.max(1, Math.floor(bytes / piece.length)))
const each = (bytes: number, piece: (at: number) => string): string => {
  let text = ''
  for (let at = 0; text.length < bytes; at++) text += piece(at)
  return text
}

/** Every way in which an upload with these fields and this file can grow. */
export function formAttacks(fields: Readonly<Record<string, string>>, fileField: string): FormAttack[] {
  const plain = Object.entries(fields)
    .map(([name, value]) => field(name, value))
    .join('')
  const content = file(fileField, 'a.png', 'bytes')
  const withMore = (more: string): string => plain + more + content + end
  const attacks: Record<string, (bytes: number) => string> = {
    'many fields of one name': (bytes) => withMore(fill(bytes, field('x', ''))),
    'many fields': (bytes) => withMore(each(bytes, (at) => field(`x${at}`, ''))),
    'many files': (bytes) => withMore(each(bytes, (at) => file(fileField, `${at}.png`, ''))),
    'a long field': (bytes) => withMore(field('x', fill(bytes, 'a'))),
    'a long name': (bytes) => withMore(field(fill(bytes, 'a'), '')),
    'a long file name': (bytes) => withMore(file('x', fill(bytes, 'é"\\'), '')),
    'a long head': (bytes) => withMore(file('x', 'x', '', `X-A: ${fill(bytes, 'a;')}\r\n`)),
    'many heads': (bytes) =>
      withMore(
        file(
          'x',
          'x',
          '',
          each(bytes, (at) => `X-${at}: a\r\n`),
        ),
      ),
    'parameters of the head': (bytes) => withMore(file('x', `x"; ${fill(bytes, 'a="b"; ')}b="c`, '')),
    'a file of line ends': (bytes) => withMore(file('x', 'x', fill(bytes, '\r\n'))),
    'a file of dashes': (bytes) => withMore(file('x', 'x', fill(bytes, '-'))),
    'a file of beginnings of the boundary': (bytes) =>
      withMore(file('x', 'x', fill(bytes, `\r\n--${formBoundary.slice(0, -1)}`))),
    'a file of boundaries without line ends': (bytes) => withMore(file('x', 'x', fill(bytes, `--${formBoundary}`))),
    'text in front of it': (bytes) => fill(bytes, 'a\r\n--') + withMore(''),
    'text behind it': (bytes) => withMore('') + fill(bytes, `--${formBoundary}`),
  }
  for (const name of Object.keys(fields))
    for (const [filling, piece] of [
      ['letters', 'a'],
      ['brackets', '['],
      ['commas', ', '],
    ] as const)
      attacks[`field ${name} of ${filling}`] = (bytes) => content + field(name, fill(bytes, piece)) + withMore('')
  return Object.entries(attacks).map(([name, write]) => ({ name, write }))
}
