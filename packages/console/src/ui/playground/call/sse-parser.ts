export interface ServerEvent {
  readonly event?: string | undefined
  readonly data: string
}

/**
 * Creates a parser of server-sent events for text in any chunks (WHATWG HTML, 9.2.6). Ids and retry times are ignored.
 *
 * @param onComment called with the text of each comment
 */
export function createEventReader(onComment?: (text: string) => void): (text: string) => readonly ServerEvent[] {
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
    if (line.startsWith(':')) {
      onComment?.(line.slice(1).trim())
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
    // A trailing carriage return may have its line feed in the next chunk.
    const lines = left.split(/\r\n|\n|\r(?!$)/)
    left = lines.pop() ?? ''
    for (const line of lines) take(line, out)
    return out
  }
}
