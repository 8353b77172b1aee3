export interface Span {
  readonly text: string
  /** Class of the code styles; undefined: plain. */
  readonly kind?: 'string' | 'comment' | 'word' | undefined
}

/** Longer code is shown plain. */
const longest = 20_000

const words = new Set(
  (
    'abstract and as assert async await break case catch class const continue def default delete do elif else end enum ' +
    'except export extends false final finally fn for from func function global go if impl import in instanceof ' +
    'interface is lambda let match mod mut new nil none not null or package pass private protected pub public raise ' +
    'return self static struct super switch then this throw throws trait true try type typeof undefined union use using ' +
    'val var void where while with yield select insert update into values join group order by create table'
  ).split(' '),
)

/** Languages whose comments begin with a hash; elsewhere that is a colour, a heading or an id. */
const hashed =
  /^(?:sh|bash|zsh|shell|console|py|python|rb|ruby|perl|pl|r|yaml|yml|toml|ini|conf|dockerfile|make|makefile)\b/i
const plain = /^(?:text|txt|plain|plaintext|md|markdown|diff|output|log)?$/i

const slashes = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|`
const hashes = String.raw`(?<=^|\s)#[^\n]*|`
const rest = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\x60(?:[^\x60\\]|\\[^])*\x60|[A-Za-z_$][\w$]*`

/** Marks strings, comments and the keywords most languages share. A visual hint, not a grammar. */
export function highlight(code: string, language: string): readonly Span[] {
  if (code.length > longest || plain.test(language)) return [{ text: code }]
  const piece = new RegExp((hashed.test(language) ? hashes : slashes) + rest, 'g')
  const spans: Span[] = []
  let from = 0
  for (const { 0: text, index } of code.matchAll(piece)) {
    const kind = kindOf(text)
    if (kind === undefined) continue
    if (index > from) spans.push({ text: code.slice(from, index) })
    spans.push({ text, kind })
    from = index + text.length
  }
  if (from < code.length) spans.push({ text: code.slice(from) })
  return spans
}

function kindOf(text: string): Span['kind'] {
  if (/^["'`]/.test(text)) return 'string'
  if (/^[/#]/.test(text)) return 'comment'
  return words.has(text) || words.has(text.toLowerCase()) ? 'word' : undefined
}
