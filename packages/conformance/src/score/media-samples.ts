/** An image of 64 × 64 red pixels: a palette of one colour. */
export const redPicture =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQMAAACQp+OdAAAAA1BMVEXcFBQXnfKmAAAAD0lEQVR4nGNgGAWjgHwAAAJAAAFZNqEDAAAAAElFTkSuQmCC'

const pdfParts = (words: string): string[] => {
  const drawing = `BT /F1 24 Tf 72 720 Td (${words}) Tj ET`
  return [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${drawing.length} >>\nstream\n${drawing}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
}

/** Returns a one-page PDF in base64. The text must be plain ASCII without parentheses. */
export function pdfOf(words: string): string {
  let file = '%PDF-1.4\n'
  const places: number[] = []
  for (const [index, part] of pdfParts(words).entries()) {
    places.push(file.length)
    file += `${index + 1} 0 obj\n${part}\nendobj\n`
  }
  const table = file.length
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`)
  file += `xref\n0 ${places.length + 1}\n0000000000 65535 f \n${rows.join('')}`
  file += `trailer\n<< /Size ${places.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`
  return btoa(file)
}

const rate = 8000

/** Returns one second of a tone as an 8-bit WAV file. */
export function toneBytes(): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(44 + rate)
  const view = new DataView(bytes.buffer)
  const word = (at: number, text: string): void => {
    for (const [index, character] of [...text].entries()) bytes[at + index] = character.charCodeAt(0)
  }
  word(0, 'RIFF')
  view.setUint32(4, 36 + rate, true)
  word(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate, true)
  view.setUint16(32, 1, true)
  view.setUint16(34, 8, true)
  word(36, 'data')
  view.setUint32(40, rate, true)
  for (let index = 0; index < rate; index++)
    bytes[44 + index] = 128 + Math.round(60 * Math.sin((index * 2 * Math.PI * 440) / rate))
  return bytes
}

export const base64Of = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))

export const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
