import { Icon } from '../parts/icons.tsx'

export const SendIcon = () => (
  <Icon>
    <path d="M8 13V3M4 7l4-4 4 4" />
  </Icon>
)

export const StopIcon = () => (
  <Icon>
    <rect x="4" y="4" width="8" height="8" rx="1.5" fill="currentColor" />
  </Icon>
)

export const ImageIcon = () => (
  <Icon>
    <rect x="2" y="2.5" width="12" height="11" rx="2" />
    <circle cx="5.7" cy="6" r="1.1" />
    <path d="m2.5 12 3.6-3.4 2.2 2 2.4-2.6L13.6 11" />
  </Icon>
)

export const RetryIcon = () => (
  <Icon>
    <path d="M13 8a5 5 0 1 1-1.6-3.7M13.2 2.2v2.6h-2.6" />
  </Icon>
)

export const PencilIcon = () => (
  <Icon>
    <path d="m3 13 .6-2.8 7.1-7.1a1.3 1.3 0 0 1 1.8 0l.4.4a1.3 1.3 0 0 1 0 1.8l-7.1 7.1L3 13Z" />
  </Icon>
)

export const PlusIcon = () => (
  <Icon>
    <path d="M8 3v10M3 8h10" />
  </Icon>
)

export const CrossIcon = () => (
  <Icon>
    <path d="m4 4 8 8M12 4l-8 8" />
  </Icon>
)

export const ToolIcon = () => (
  <Icon>
    <path d="M10 2.6a3.3 3.3 0 0 0-3.2 4.3L2.6 11a1.6 1.6 0 0 0 2.3 2.3l4.2-4.1a3.3 3.3 0 0 0 4.2-4.3l-2 2-1.9-.4-.4-1.9 2-2A3.3 3.3 0 0 0 10 2.6Z" />
  </Icon>
)

export const EyeIcon = () => (
  <Icon>
    <path d="M1.5 8S3.8 3.5 8 3.5 14.5 8 14.5 8 12.2 12.5 8 12.5 1.5 8 1.5 8Z" />
    <circle cx="8" cy="8" r="1.9" />
  </Icon>
)

export const HiddenIcon = () => (
  <Icon>
    <path d="M6.3 3.7A6 6 0 0 1 8 3.5c4.2 0 6.5 4.5 6.5 4.5a11 11 0 0 1-1.7 2.3M4.2 4.9A10.600 10.600 0 0 0 1.500 8S3.800 12.500 8 12.500a6 6 0 0 0 3-.8M2.500 2.500l11 11" />
  </Icon>
)

export const InspectIcon = () => (
  <Icon>
    <path d="M5.500 4 2 8l3.500 4M10.500 4 14 8l-3.500 4" />
  </Icon>
)
