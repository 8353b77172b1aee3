import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Round } from './rounds.ts'

/** Distance from the end, in pixels, within which the reader follows it. */
const nearPx = 80

/** Height of the composer at the bottom of a narrow page, in pixels. */
const footPx = 150

/**
 * Follows the end of the conversation: a new question always scrolls into view, but a reader who scrolls back is left alone.
 * `others` is a second conversation beside it. On wide screens the pane scrolls, on narrow ones the page.
 */
export function useFollowing(rounds: readonly Round[], others: readonly Round[] = rounds) {
  const scroller = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  const last = useRef<number>(undefined)

  useLayoutEffect(() => {
    const element = scroller.current
    const newest = rounds.at(-1)?.id
    if (element === null || newest === undefined) return
    const isNew = newest !== last.current
    last.current = newest
    if (isNew) follows.current = true
    if (!follows.current) return
    if (scrollsItself(element)) element.scrollTop = element.scrollHeight
    else element.querySelector('.round:last-child')?.scrollIntoView({ block: 'end' })
    // Not with the arrays: they are new with each rendering, and following would undo a jump to another pane.
  }, [rounds.at(-1), others.at(-1)])

  useEffect(() => {
    const pageScrolled = (): void => {
      const element = scroller.current
      if (element !== null && !scrollsItself(element))
        follows.current = element.getBoundingClientRect().bottom < innerHeight - footPx + nearPx
    }
    addEventListener('scroll', pageScrolled, { passive: true })
    return () => removeEventListener('scroll', pageScrolled)
  }, [])

  const scrolled = (): void => {
    const element = scroller.current
    if (element !== null && scrollsItself(element))
      follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < nearPx
  }
  return { scroller, scrolled }
}

const scrollsItself = (element: HTMLElement): boolean => getComputedStyle(element).overflowY === 'auto'
