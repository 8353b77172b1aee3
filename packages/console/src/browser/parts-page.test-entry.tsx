import { render } from 'preact'
import type { Exchange } from '../ui/playground/formats/format.ts'
import { formatNamed } from '../ui/playground/formats/index.ts'
import { Inspector } from '../ui/playground/inspect/inspector.tsx'
import { Markdown } from '../ui/playground/markdown/markdown.tsx'

/** Components a test can ask for, as plain values: functions cannot be handed to a page. */
export type Wanted =
  | { readonly part: 'markdown'; readonly text: string; readonly streaming: boolean }
  | {
      readonly part: 'inspector'
      readonly format: string
      readonly exchange: Omit<Exchange, 'format'>
      readonly token: string
      readonly canExplain: boolean
    }

const root = document.getElementById('app')

function show(wanted: Wanted): void {
  if (root === null) return
  if (wanted.part === 'markdown') render(<Markdown text={wanted.text} streaming={wanted.streaming} />, root)
  else {
    const { format, exchange, token, canExplain } = wanted
    const whole = { ...exchange, format: formatNamed(format) }
    render(<Inspector exchange={whole} base={location.origin} token={token} canExplain={canExplain} />, root)
  }
}

Object.assign(window, { show })
