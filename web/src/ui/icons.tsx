// Drawn on a grid of 16, in the colour of the text around them. All are ornaments: what they mean is said in words beside.
import type { ReactNode } from "react";

const SHAPES = {
  fleet: (
    <>
      <rect x="2" y="2.5" width="5" height="5" rx="1.2" />
      <rect x="9" y="2.5" width="5" height="5" rx="1.2" />
      <rect x="2" y="9" width="5" height="5" rx="1.2" />
      <rect x="9" y="9" width="5" height="5" rx="1.2" />
    </>
  ),
  inbox: (
    <>
      <path d="M2 9.5 4 3.2h8l2 6.3v3.3H2z" />
      <path d="M2 9.5h3.4l.9 1.6h3.4l.9-1.6H14" />
    </>
  ),
  template: (
    <>
      <path d="M8 1.8 14 5 8 8.2 2 5z" />
      <path d="m2 8 6 3.2L14 8" />
      <path d="m2 11 6 3.2L14 11" />
    </>
  ),
  snapshot: (
    <>
      <circle cx="4" cy="3.5" r="1.6" />
      <circle cx="4" cy="12.5" r="1.6" />
      <circle cx="12" cy="6.5" r="1.6" />
      <path d="M4 5.1v5.8M12 8.1c0 2.3-2.6 2.6-5 2.9-1.2.2-1.9.6-2.2 1" />
    </>
  ),
  events: <path d="M1.8 8h2.8l2-5 3 10 2-5h2.6" />,
  node: (
    <>
      <rect x="2" y="2.5" width="12" height="4.5" rx="1.2" />
      <rect x="2" y="9" width="12" height="4.5" rx="1.2" />
      <path d="M4.6 4.75h.01M4.6 11.25h.01" strokeWidth="2" />
    </>
  ),
  key: (
    <>
      <circle cx="5" cy="11" r="2.8" />
      <path d="m7 9 6-6M10.6 5.4l2 2M12.4 3.6l1 1" />
    </>
  ),
  moon: <path d="M13.2 9.6A5.8 5.8 0 0 1 6.4 2.8a5.8 5.8 0 1 0 6.8 6.8z" />,
  sun: (
    <>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9" />
    </>
  ),
  auto: (
    <>
      <circle cx="8" cy="8" r="5.6" />
      <path d="M8 2.4v11.2A5.6 5.6 0 0 0 8 2.4z" fill="currentColor" />
    </>
  ),
  plus: <path d="M8 3v10M3 8h10" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  check: <path d="m3 8.5 3.3 3.3L13 4.8" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2.2" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.3" />
      <path d="m10.3 10.3 3.4 3.4" />
    </>
  ),
  play: <path d="M5 3.2v9.6l7.6-4.8z" />,
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" strokeWidth="2" />,
  trash: (
    <>
      <path d="M2.8 4.3h10.4M6.2 4.2V2.8h3.6v1.4M4.2 4.5l.6 8.9h6.4l.6-8.9M6.7 7v4M9.3 7v4" />
    </>
  ),
  fork: (
    <>
      <circle cx="4" cy="3.4" r="1.5" />
      <circle cx="12" cy="3.4" r="1.5" />
      <circle cx="8" cy="12.6" r="1.5" />
      <path d="M4 5v1.2C4 8 8 7.6 8 9.4V11M12 5v1.2C12 8 8 7.6 8 9.4" />
    </>
  ),
  camera: (
    <>
      <path d="M2 5.2h2.6l1-1.7h4.8l1 1.7H14v7.6H2z" />
      <circle cx="8" cy="8.8" r="2.3" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.4" />
      <path d="M10.5 5.5v-3h-8v8h3" />
    </>
  ),
  screen: (
    <>
      <rect x="1.8" y="2.6" width="12.4" height="8.4" rx="1.2" />
      <path d="M5.5 13.8h5M8 11v2.8" />
    </>
  ),
  terminal: (
    <>
      <rect x="1.8" y="2.6" width="12.4" height="10.8" rx="1.4" />
      <path d="m4.5 6 2.2 2-2.2 2M8.4 10.2h3" />
    </>
  ),
  file: <path d="M3.5 1.8h5.3l3.7 3.7v8.7h-9zM8.6 1.9v3.8h3.8" />,
  folder: <path d="M1.8 3.4h4.4l1.4 1.7h6.6v7.9H1.8z" />,
  clock: (
    <>
      <circle cx="8" cy="8" r="5.9" />
      <path d="M8 4.6V8l2.4 1.6" />
    </>
  ),
  plug: <path d="M6 1.8v3M10 1.8v3M4.2 4.8h7.6v2.4a3.8 3.8 0 0 1-7.6 0zM8 11v3.2" />,
  settings: (
    <>
      <path d="M2 4.5h6M11.5 4.5H14M2 11.5h2.5M8 11.5h6" />
      <circle cx="9.7" cy="4.5" r="1.7" />
      <circle cx="6.2" cy="11.5" r="1.7" />
    </>
  ),
  warning: (
    <>
      <path d="M8 2.2 14.3 13H1.7z" />
      <path d="M8 6.4v3M8 11.2h.01" />
    </>
  ),
  info: (
    <>
      <circle cx="8" cy="8" r="5.9" />
      <path d="M8 7.4v3.6M8 5h.01" />
    </>
  ),
  hand: (
    <path d="M5.2 9V3.7a1 1 0 0 1 2 0V7M7.2 7V2.7a1 1 0 0 1 2 0V7M9.2 7V3.6a1 1 0 0 1 2 0v5.8c0 3-1.4 4.8-3.9 4.8-2 0-3-1-3.9-2.9L2.3 9a1 1 0 0 1 1.7-1l1.2 1.6" />
  ),
  eye: (
    <>
      <path d="M1.6 8C3.2 5 5.4 3.6 8 3.6S12.8 5 14.4 8c-1.6 3-3.8 4.4-6.4 4.4S3.2 11 1.6 8z" />
      <circle cx="8" cy="8" r="2" />
    </>
  ),
  share: (
    <>
      <circle cx="4" cy="8" r="1.7" />
      <circle cx="12" cy="3.6" r="1.7" />
      <circle cx="12" cy="12.4" r="1.7" />
      <path d="m5.5 7.2 5-2.8M5.5 8.8l5 2.8" />
    </>
  ),
  download: <path d="M8 2.2v8M4.6 7.2 8 10.4l3.4-3.2M2.6 13.4h10.8" />,
  upload: <path d="M8 10.6V2.4M4.6 5.6 8 2.4l3.4 3.2M2.6 13.4h10.8" />,
  back: <path d="m9.8 3-5 5 5 5" />,
  next: <path d="m6.2 3 5 5-5 5" />,
  down: <path d="m3.5 6 4.5 4.5L12.5 6" />,
  expand: <path d="M9.8 2.2h4v4M6.2 13.8h-4v-4M13.8 2.2 9.4 6.6M2.2 13.8l4.4-4.4" />,
  shrink: <path d="M13.4 6.6h-4v-4M2.6 9.4h4v4M9.4 6.6l4.4-4.4M6.6 9.4l-4.4 4.4" />,
  link: <path d="M6.6 9.4 9.4 6.6M7.2 4.6l1.6-1.6a2.9 2.9 0 0 1 4.2 4.2l-1.6 1.6M8.8 11.4 7.2 13A2.9 2.9 0 0 1 3 8.8l1.6-1.6" />,
  external: <path d="M6.4 3.2H3v9.8h9.8V9.6M9 2.6h4.4V7M13.2 2.8 7.4 8.6" />,
  undo: <path d="M3 6.2h6.4a3.6 3.6 0 0 1 0 7.2H5.2M5.6 3.4 2.8 6.2 5.6 9" />,
  signout: <path d="M6.4 2.6H2.8v10.8h3.6M6.4 8h7M10.6 5.2 13.4 8l-2.8 2.8" />,
  keyboard: (
    <>
      <rect x="1.4" y="4" width="13.2" height="8" rx="1.4" />
      <path d="M4 6.8h.01M6.7 6.8h.01M9.3 6.8h.01M12 6.8h.01M5 9.4h6" />
    </>
  ),
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof SHAPES;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {SHAPES[name]}
    </svg>
  );
}
