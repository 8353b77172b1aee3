import { useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { MoonIcon, SunIcon } from './icons.tsx'

type Theme = 'light' | 'dark'

/** Read by shell/theme.js before the first paint. */
const storedAs = 'modelgate-theme'

const shown = (): Theme => {
  const chosen = document.documentElement.dataset.theme
  if (chosen === 'light' || chosen === 'dark') return chosen
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

/** Switches between light and dark. Follows the system until it is pressed; only then is the choice stored. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(shown)
  const other = theme === 'dark' ? 'light' : 'dark'
  const change = (): void => {
    document.documentElement.dataset.theme = other
    try {
      localStorage.setItem(storedAs, other)
    } catch {
      // Storage is blocked: the choice holds for this visit.
    }
    setTheme(other)
  }
  return (
    <Button look="quiet" icon label={`Switch to ${other} colors`} onClick={change}>
      {theme === 'dark' ? <SunIcon /> : <MoonIcon />}
    </Button>
  )
}
