const words = /^(?:import|from|new|const|await|export|curl|process|console)$/

/** Strings, comments and a few words; everything else as it is. */
const piece = /("(?:[^"\\]|\\.)*"|'[^']*'|^\s*#.*$|(?<=\s)\/\/.*$|\b[A-Za-z]+\b)/gm

const kindOf = (text: string): string | undefined => {
  if (/^["']/.test(text)) return 'string'
  if (/^\s*(?:#|\/\/)/.test(text)) return 'comment'
  return words.test(text) ? 'word' : undefined
}

/** Code to read and copy, lightly coloured. Made of elements, never of markup. */
export function Code({ text }: { text: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, and must do so by keyboard, too */}
      <pre tabIndex={0}>
        <code>
          {text.split(piece).map((part) => {
            const kind = kindOf(part)
            return kind === undefined ? part : <span class={kind}>{part}</span>
          })}
        </code>
      </pre>
    </div>
  )
}
