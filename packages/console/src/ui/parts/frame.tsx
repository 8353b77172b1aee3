import type { ComponentChildren } from 'preact'
import { Mark } from './icons.tsx'
import { ThemeSwitch } from './theme-switch.tsx'

/** The bar at the top of both pages. `home` and `playground` are addresses relative to the page. */
export function Header({ home, children }: { home: string; children?: ComponentChildren }) {
  return (
    <header class="top">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <div class="wrap">
        <a class="brand" href={home}>
          <Mark />
          Modelgate
        </a>
        {children}
        <ThemeSwitch />
      </div>
    </header>
  )
}
