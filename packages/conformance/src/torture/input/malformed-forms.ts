/** A part of an upload; a part with a `filename` is a file. */
export interface Part {
  readonly name: string
  readonly value: string | Uint8Array
  readonly filename?: string
}

export const formType = 'multipart/form-data; boundary=torture-form'

export const writeForm = (parts: readonly Part[], end = '--torture-form--\r\n'): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ name, value, filename }) => [
      Buffer.from(
        `--torture-form\r\ncontent-disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n`,
      ),
      Buffer.from(value),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(end),
  ])

/** An invalid or incomplete form. */
export interface BrokenForm {
  readonly name: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  make(good: readonly Part[]): string | Uint8Array
}

const broken = (name: string, make: BrokenForm['make'], more: Partial<BrokenForm> = {}): BrokenForm => ({
  name,
  make,
  ...more,
})
/** Returns a good form with one additional handwritten part before it. */
const withPart = (name: string, part: string): BrokenForm =>
  broken(name, (good) => `--torture-form\r\n${part}\r\n${writeForm(good).toString('latin1')}`)
const texted = (good: readonly Part[]): string => writeForm(good).toString('latin1')

/** Thirty broken forms. */
export const brokenForms: readonly BrokenForm[] = [
  broken('nothing', () => ''),
  broken('blanks', () => ' \r\n \r\n'),
  broken('JSON', () => '{"model":"a"}'),
  broken('only an end', () => '--torture-form--\r\n'),
  broken('only a beginning', () => '--torture-form\r\n'),
  broken('only a preamble', () => 'nothing but words\r\n'),
  broken('no boundary', texted, { type: 'multipart/form-data' }),
  broken('an empty boundary', texted, { type: 'multipart/form-data; boundary=' }),
  broken('another boundary', texted, { type: 'multipart/form-data; boundary=else' }),
  broken('another kind of multipart', texted, { type: 'multipart/mixed; boundary=torture-form' }),
  broken('text/plain', texted, { type: 'text/plain' }),
  broken('a form of the web', () => 'model=a&file=b', { type: 'application/x-www-form-urlencoded' }),
  broken('no end', (good) => writeForm(good, '')),
  broken('half an end', (good) => writeForm(good, '--torture-form')),
  broken('cut in the middle', (good) => texted(good).slice(0, 150)),
  broken('cut within a header', (good) => texted(good).slice(0, 40)),
  broken('line feeds alone', (good) => texted(good).replaceAll('\r\n', '\n')),
  broken('carriage returns alone', (good) => texted(good).replaceAll('\r\n', '\r')),
  broken('an unknown encoding', texted, { headers: { 'content-encoding': 'rot13' } }),
  broken('invalid gzip', texted, { headers: { 'content-encoding': 'gzip' } }),
  withPart('a part without a disposition', 'content-type: text/plain\r\n\r\nx'),
  withPart('a part without a name', 'content-disposition: form-data\r\n\r\nx'),
  withPart('a part with an empty name', 'content-disposition: form-data; name=""\r\n\r\nx'),
  withPart('a part with two names', 'content-disposition: form-data; name="a"; name="model"\r\n\r\nx'),
  withPart(
    'a part with a name in two spellings',
    'content-disposition: form-data; name="a"; name*=UTF-8\'\'b\r\n\r\nx',
  ),
  withPart('a part that is an attachment', 'content-disposition: attachment; name="a"\r\n\r\nx'),
  withPart('a name without its quote', 'content-disposition: form-data; name="a\r\n\r\nx'),
  withPart('a header without a colon', 'content-disposition form-data\r\n\r\nx'),
  withPart('a part that is all header', `content-disposition: form-data; name="a"; x="${'y'.repeat(50_000)}"\r\n\r\nx`),
  broken('a thousand parts', (good) =>
    writeForm([...good, ...Array.from({ length: 1000 }, () => ({ name: 'x', value: 'y' }))]),
  ),
]

/** A fault in one field of an upload. */
export interface FormFault {
  readonly name: string
  readonly param: string
  apply(good: readonly Part[]): readonly Part[]
}

/** Type of an upload field. Fields that represent lists may be repeated. */
export interface FormField {
  readonly at: string
  readonly kind: 'text' | 'texts' | 'number' | 'boolean' | 'file' | 'files'
  readonly required?: true
  readonly also?: readonly string[]
}

const without = (parts: readonly Part[], at: string): Part[] => parts.filter(({ name }) => name !== at)

function faultsOfField({ at, kind, required, also = [] }: FormField): FormFault[] {
  const isFile = kind === 'file' || kind === 'files'
  const one = isFile ? { name: at, value: 'x', filename: 'a.png' } : { name: at, value: kind === 'number' ? '1' : 'x' }
  const texts = [...also, ...(isFile ? ['x', '5', ''] : []), ...(kind === 'number' ? ['warm', '', '{}', '1e999'] : [])]
  if (kind === 'boolean') texts.push('maybe', '2', '', '[]')
  const fault = (name: string, apply: FormFault['apply']): FormFault => ({ name: `${at} ${name}`, param: at, apply })
  return [
    ...(required ? [fault('missing', (good) => without(good, at))] : []),
    ...texts.map((value) => fault(`'${value}'`, (good) => [...without(good, at), { name: at, value }])),
    ...(isFile ? [] : [fault('as a file', (good) => [...without(good, at), { ...one, filename: 'a.txt' }])]),
    ...(kind === 'texts' || kind === 'files'
      ? []
      : [
          fault('twice', (good) => [...without(good, at), one, one]),
          fault('twice, once as a list', (good) => [...without(good, at), one, { ...one, name: `${at}[]` }]),
        ]),
  ]
}

/** Returns every fault, in rotation over the fields. */
export function formFaultsOf(fields: readonly FormField[]): readonly FormFault[] {
  const columns = fields.map(faultsOfField)
  const rows = Math.max(...columns.map(({ length }) => length))
  return Array.from({ length: rows }, (_, row) => columns.flatMap((column) => column[row] ?? [])).flat()
}
