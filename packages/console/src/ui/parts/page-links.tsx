import type { Info } from '../../info.ts'

/** Pages below `console/`, in the order of their links. */
const pages = [
  { id: 'playground', title: 'Playground', exists: ({ playground }: Info) => playground },
  { id: 'calls', title: 'Calls', exists: ({ calls }: Info) => calls },
  { id: 'usage', title: 'Usage', exists: ({ usage }: Info) => usage },
  { id: 'tokens', title: 'Tokens', exists: ({ usage }: Info) => usage },
] as const

export interface PageLinksProps {
  /** Undefined until the gateway has responded. */
  info: Info | undefined
  /** The folder of the pages, relative to this page. */
  folder: './' | 'console/'
  current?: (typeof pages)[number]['id']
}

/** Links to the pages that the gateway has. The current page is always among them. */
export function PageLinks({ info, folder, current }: PageLinksProps) {
  const shown = pages.filter(({ id, exists }) => id === current || (info !== undefined && exists(info)))
  return (
    <nav aria-label="Pages" class={shown.length > 2 ? 'several' : ''}>
      {shown.map(({ id, title }) => (
        <a key={id} href={folder + id} {...(id === current ? { 'aria-current': 'page' as const } : {})}>
          {title}
        </a>
      ))}
    </nav>
  )
}
