import type { ComponentChildren } from 'preact'

export const Icon = ({ children }: { children: ComponentChildren }) => (
  <svg
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    stroke-width="1.5"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    {children}
  </svg>
)

export const CopyIcon = () => (
  <Icon>
    <rect x="5.5" y="5.5" width="8" height="8" rx="2" />
    <path d="M10.5 3.3A1.8 1.8 0 0 0 8.7 2H4.5A2.5 2.5 0 0 0 2 4.5v4.2c0 .8.5 1.5 1.3 1.8" />
  </Icon>
)

export const CheckIcon = () => (
  <Icon>
    <path d="m3 8.5 3.2 3.2L13 5" />
  </Icon>
)

export const ArrowIcon = () => (
  <Icon>
    <path d="M3 8h10M9 4l4 4-4 4" />
  </Icon>
)

export const SunIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="2.8" />
    <path d="M8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9" />
  </Icon>
)

export const MoonIcon = () => (
  <Icon>
    <path d="M13.5 9.7A5.8 5.8 0 0 1 6.3 2.5a5.8 5.8 0 1 0 7.2 7.2Z" />
  </Icon>
)

/** The logo: a gate in a gate. */
export const Mark = () => (
  <svg viewBox="0 0 32 32" fill="none" aria-hidden="true">
    <rect width="32" height="32" rx="8" fill="currentColor" />
    <path
      class="mark"
      d="M8 24V14a8 8 0 0 1 16 0v10M13 24v-9.5a3 3 0 0 1 6 0V24"
      stroke-width="2.6"
      stroke-linecap="round"
    />
  </svg>
)
