import { CopyButton } from '../../parts/copy-button.tsx'
import { highlight } from './highlight.ts'

/** A code block of a response, with its language and a copy button. */
export function CodeBlock({ text, info }: { text: string; info: string }) {
  const language = info.split(/[\s{:,]/, 1)[0] ?? ''
  return (
    <figure class="code code-block">
      <figcaption>
        <span>{info === '' ? 'code' : info}</span>
        <CopyButton small look="quiet" text={text} what={language === '' ? 'the code' : `the ${language} code`} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll and must be reachable by keyboard */}
      <pre tabIndex={0}>
        <code>
          {highlight(text, language).map(({ text, kind }) =>
            kind === undefined ? text : <span class={kind}>{text}</span>,
          )}
        </code>
      </pre>
    </figure>
  )
}
