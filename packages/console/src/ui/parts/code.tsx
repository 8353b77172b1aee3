const words = /^(?:import|from|new|const|await|export|curl|process|console)$/

/** Strings, comments and a few keywords; the rest stays plain. */
const piece = /("(?:[^"\\]|\\.)*"|'[^']*'|^\s*#.*$|(?<=\s)\/\/.*$|\b[A-Za-z]+\b)/gm

const kindOf = (text: string): string | undefined => {
  if (/^["']/.test(text)) return 'string'
  if (/^\s*(?:#|\/\/)/.test(text)) return 'comment'
  return words.test(text) ? 'word' : undefined
}

/** A code block with light colours, made of elements and never of markup. */
export function Code({ text }: { text: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll and must be reachable by keyboard */}
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
