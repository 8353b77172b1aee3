/** Maximum length of a value in a line: clients choose names of models. */
export const maxLength = 200

/** Characters that JSON and terminals accept unchanged. */
const plain = /^[\w .,:;/@+*()[\]{}<>|=&%$#!?~'^-]*$/

/** Characters that could end the line, or change the display of a terminal or editor. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

const escapeCharacter = (character: string): string =>
  character === '\n'
    ? '\\n'
    : character === '\r'
      ? '\\r'
      : character === '\t'
        ? '\\t'
        : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

const shortened = (text: string): string => (text.length > maxLength ? `${text.slice(0, maxLength)}…` : text)

/** Returns a client's or upstream's text for one line of a terminal: bounded, without control characters. */
export const toLine = (text: string): string =>
  text.length <= maxLength && plain.test(text) ? text : escaped(shortened(text))

/** Returns a text without characters that break the line. */
export const escaped = (text: string): string => text.replace(unsafe, escapeCharacter)

/** Returns a bounded text as JSON. */
export const toJson = (text: string): string =>
  text.length <= maxLength && plain.test(text) ? `"${text}"` : stringify(shortened(text))

/** Returns a value as JSON on one line. JSON escapes control characters, but not those that change the direction of text. */
export const stringify = (value: unknown): string => JSON.stringify(value).replace(unsafe, toUnicodeEscapes)

const toUnicodeEscapes = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')

/** Words in front of a quoted name of a field, method, path or model. Other quoted text is a value of the client. */
const announcesName =
  /(?:^|\W)(?:parameter|field|member|property|method|model|path|header|named|name|argument|at|of|for):? $/i

const closingQuotes: Readonly<Record<string, string>> = { "'": "'", '"': '"', '`': '`', '“': '”' }

/** Characters of a message that are read. */
const maxMessage = 1000

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}]/u.test(character)

/** Replaces values that an error message quotes from a request: logs hold no content. Names of fields stay. */
export function withoutValues(message: string): string {
  const text = message.slice(0, maxMessage)
  let result = ''
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    const closing = closingQuotes[character]
    // The apostrophe of a word, such as `doesn't`, opens no quotation.
    if (closing === undefined || isWord(text[at - 1])) {
      result += character
      continue
    }
    let end = text.indexOf(closing, at + 1)
    while (end !== -1 && isWord(text[end + 1])) end = text.indexOf(closing, end + 1)
    if (end === -1) end = text.length
    result += announcesName.test(text.slice(Math.max(0, at - 20), at)) ? text.slice(at, end + 1) : "'…'"
    at = end
  }
  return result
}
