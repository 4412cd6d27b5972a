import "./screen.css";
import { useState } from "react";
import type { Driver, Seat } from "../../api/types";
import { Button, EmptyState } from "../../ui";
import { isAsleep } from "../state";
import { Screen } from "./Screen";

interface SharedProps {
  token: string;
  seat: Seat;
  name: string;
  onDriver: (driver: Driver | null, drives: boolean) => void;
}

/** The screen behind a link, for the share page: noVNC comes with it. Opening it anew is what wakes a sleeping one. */
export default function SharedScreen({ token, seat, name, onDriver }: SharedProps) {
  const [opened, setOpened] = useState({ round: 0, whileAsleep: isAsleep(seat) });
  if (opened.whileAsleep && !isAsleep(seat)) setOpened({ ...opened, whileAsleep: false });
  const wake = (
    <Button look="primary" icon="sun" onClick={() => setOpened({ round: opened.round + 1, whileAsleep: true })}>
      Wake and watch
    </Button>
  );
  return (
    <Screen
      key={opened.round}
      name={name}
      link={{ token, websocket: seat.websocket, mode: seat.mode }}
      driver={seat.driver}
      driving={seat.drives}
      over={isAsleep(seat) && !opened.whileAsleep ? <EmptyState icon="moon" title="Asleep" action={wake} /> : null}
      onDriver={(driver) => onDriver(driver, driver !== null)}
      onLinkOver={() => null}
    />
  );
}
