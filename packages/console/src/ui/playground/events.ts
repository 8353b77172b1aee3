export interface ServerEvent {
  readonly event?: string | undefined
  readonly data: string
}

/** Server-sent events out of text that comes in any pieces (WHATWG HTML, 9.2.6). Ids and retry times are of no use here. */
export function createEventReader(): (text: string) => readonly ServerEvent[] {
  let left = ''
  let event: string | undefined
  let data: string[] = []

  function take(line: string, out: ServerEvent[]): void {
    if (line === '') {
      if (data.length > 0) out.push({ event, data: data.join('\n') })
      event = undefined
      data = []
      return
    }
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') data.push(value)
    else if (name === 'event') event = value
  }

  return (text) => {
    const out: ServerEvent[] = []
    left += text
    // A carriage return at the very end may have its line feed in the next piece.
    const lines = left.split(/\r\n|\n|\r(?!$)/)
    left = lines.pop() ?? ''
    for (const line of lines) take(line, out)
    return out
  }
}
